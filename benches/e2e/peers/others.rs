//! nginx, `HAProxy` and Caddy, each as its own documentation would have a reverse proxy with a list of refused
//! User-Agents: connections to the origin are kept, the client's address is passed on, nothing is logged.

use super::{Addresses, Kind, Where};
use crate::certificate::Certificate;
use crate::lists::{FOUR, expression, many};
use crate::process::{Processor, Running, command};
use std::error::Error;
use std::fmt::Write as _;

pub(super) fn nginx(kind: Kind, place: Where<'_>) -> Result<Running, Box<dyn Error>> {
    let folder = place.folder;
    let names = match kind {
        Kind::NginxFour => FOUR.map(str::to_owned).to_vec(),
        _ => many()?,
    };
    let mut map = String::new();
    for name in names {
        writeln!(map, "        \"~*{}\" 1;", expression(&name))?;
    }
    let config = folder.join("nginx.conf");
    std::fs::write(&config, nginx_text(place, &map))?;
    let mut nginx = command("nginx", Processor::Server);
    nginx.arg("-p").arg(folder).arg("-c").arg(&config).args(["-e", "stderr"]);
    Running::start(nginx, place.addresses.plain, &folder.join("log"))
}

/// One process, without a master, so that its figures are all there is.
fn nginx_text(place: Where<'_>, map: &str) -> String {
    let Where { origin, addresses: Addresses { plain, tls }, folder } = place;
    let certificate = Certificate::of(folder);
    let (folder, chain, key) = (folder.display(), certificate.chain.display(), certificate.key.display());
    format!(
        r#"daemon off;
master_process off;
pid {folder}/nginx.pid;
events {{ worker_connections 32768; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    map $http_user_agent $is_refused {{
        default 0;
{map}    }}
    upstream origin {{
        server {origin};
        keepalive 512;
        keepalive_requests 1000000000;
    }}
    server {{
        listen {plain} backlog=8192;
        listen {tls} ssl http2 backlog=8192;
        ssl_certificate {chain};
        ssl_certificate_key {key};
        # h2load counts a connection that is closed for its age as a failure.
        keepalive_requests 1000000000;
        if ($is_refused) {{ return 403 "refused by the list of crawlers\n"; }}
        location / {{
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
}}
"#
    )
}

pub(super) fn haproxy(place: Where<'_>) -> Result<Running, Box<dyn Error>> {
    let Where { origin, addresses: Addresses { plain, tls }, folder } = place;
    let certificate = Certificate::of(folder);
    let list = folder.join("crawlers.list");
    let expressions: Vec<String> = many()?.iter().map(|name| expression(name)).collect();
    std::fs::write(&list, expressions.join("\n") + "\n")?;
    let config = folder.join("haproxy.cfg");
    let (list, certificate) = (list.display(), certificate.both.display());
    let text = format!(
        r"global
    nbthread 1
    maxconn 8192
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    option forwardfor
frontend site
    bind {plain}
    bind {tls} ssl crt {certificate} alpn h2,http/1.1
    http-request deny deny_status 403 if {{ req.fhdr(user-agent) -m reg -i -f {list} }}
    http-request set-header X-Forwarded-Proto http
    default_backend origin
backend origin
    http-reuse always
    server origin {origin}
"
    );
    std::fs::write(&config, text)?;
    let mut haproxy = command("haproxy", Processor::Server);
    haproxy.arg("-db").arg("-f").arg(&config);
    Running::start(haproxy, plain, &folder.join("log"))
}

pub(super) fn caddy(place: Where<'_>) -> Result<Running, Box<dyn Error>> {
    let Where { origin, addresses: Addresses { plain, tls }, folder } = place;
    let certificate = Certificate::of(folder);
    let expressions: Vec<String> = many()?.iter().map(|name| expression(name)).collect();
    let list = expressions.join("|");
    let config = folder.join("Caddyfile");
    let (plain_port, tls_port) = (plain.port(), tls.port());
    let (chain, key) = (certificate.chain.display(), certificate.key.display());
    let text = format!(
        r#"{{
    admin off
    auto_https off
    default_bind 127.0.0.1
}}
(site) {{
    @refused header_regexp User-Agent `(?i)({list})`
    respond @refused "refused by the list of crawlers" 403
    reverse_proxy {origin}
}}
http://:{plain_port} {{
    import site
}}
https://:{tls_port} {{
    tls {chain} {key}
    import site
}}
"#
    );
    std::fs::write(&config, text)?;
    let mut caddy = command("caddy", Processor::Server);
    caddy.args(["run", "--adapter", "caddyfile", "--config"]).arg(&config);
    caddy
        .env("GOMAXPROCS", "1")
        .env("HOME", folder)
        .env("XDG_DATA_HOME", folder)
        .env("XDG_CONFIG_HOME", folder);
    Running::start(caddy, plain, &folder.join("log"))
}
