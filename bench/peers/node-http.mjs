// node:http without a framework: one response from memory, or the file FILE as a stream.
import { createReadStream, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { pipeline } from "node:stream";

const { RESPONSE, FILE, PORT } = process.env;

createServer(FILE ? fileListener(FILE) : responseListener(JSON.parse(readFileSync(RESPONSE, "utf8")))).listen(
  Number(PORT),
  "127.0.0.1",
);

function responseListener({ path, headers, body }) {
  const { "content-type": type, ...unchanged } = headers;
  const full = { ...headers, "content-length": Buffer.byteLength(body) };
  return (request, response) => {
    if (request.url === "/ready") return response.end();
    if (request.url !== path) return response.writeHead(404).end();
    if (headers.etag && request.headers["if-none-match"] === headers.etag)
      return response.writeHead(304, unchanged).end();
    response.writeHead(200, full).end(body);
  };
}

function fileListener(file) {
  const { size } = statSync(file);
  return (request, response) => {
    if (request.url === "/ready") return response.end();
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": size });
    pipeline(createReadStream(file), response, () => {});
  };
}
