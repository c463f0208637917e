//! HTTP messages as bytes: heads, bodies and answers. Nothing here opens a socket or asks the time.

mod body;
mod chunked;
pub mod claims;
mod fault;
pub mod head;
mod response;

pub use body::{Body, BodyReader, push_chunk};
pub use chunked::ChunkedReader;
pub use fault::HttpFault;
pub use head::{HttpVersion, RequestHead};
pub use response::{Response, begin_head, end_head, push_field};
