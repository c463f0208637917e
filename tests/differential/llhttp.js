// What llhttp, Node's parser, makes of messages: one in hexadecimal a line, and one line of JSON for each.
const { HTTPParser, allMethods } = process.binding('http_parser');

function read(bytes) {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.REQUEST, {});
  const message = { method: '', target: '', minor: 0, fields: [], body: '', whole: false };
  let over = false;
  parser[HTTPParser.kOnHeaders] = (fields, target) => {
    // Behind the head they are trailers.
    if (!over && !message.head) {
      message.fields.push(...fields);
      message.target += target;
    }
  };
  parser[HTTPParser.kOnHeadersComplete] = (major, minor, fields, method, target) => {
    if (!over) {
      message.fields.push(...(fields ?? []));
      message.target += target ?? '';
      Object.assign(message, { minor, method: allMethods[method], head: true });
    }
    return 0;
  };
  parser[HTTPParser.kOnBody] = (piece) => {
    if (!over) message.body += piece.toString('hex');
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    message.whole ||= !over && message.head;
    over = true;
  };
  parser.execute(bytes);
  return message;
}

require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  process.stdout.write(`${JSON.stringify(read(Buffer.from(line, 'hex')))}\n`);
});
