// The same response in idiomatic Fastify: headers are set, and an object is returned.
import { readFileSync } from "node:fs";
import Fastify from "fastify";

const { path, headers, body } = JSON.parse(readFileSync(process.env.RESPONSE, "utf8"));
const { "content-type": type, ...set } = headers;
const responseBody = JSON.parse(body);

const app = Fastify({ logger: false });
app.get("/ready", () => "");
app.get(path.split("?")[0], (request, reply) => {
  reply.headers(set);
  if (set.etag && request.headers["if-none-match"] === set.etag) return reply.code(304).send();
  return reply.send(responseBody);
});
await app.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
