// Parse Server as in its guide. PARSE_BCRYPT=js hides its optional native bcrypt.
import Module, { createRequire } from "node:module";
import express from "express";

const { PARSE_BCRYPT, PARSE_DATABASE_URL, PORT } = process.env;
const NATIVE = "@node-rs/bcrypt";

process.env.PARSE_SERVER_LOGS_FOLDER = "null";
if (PARSE_BCRYPT === "js") hideModule(NATIVE);
else createRequire(createRequire(import.meta.url).resolve("parse-server"))(NATIVE); // throws if it is missing

const { ParseServer } = await import("parse-server");
const server = new ParseServer({
  databaseURI: PARSE_DATABASE_URL,
  appId: "bench",
  masterKey: "bench",
  serverURL: `http://127.0.0.1:${PORT}/parse`,
  allowClientClassCreation: false,
  silent: true,
});
await server.start();
const app = express();
app.use("/parse", server.app);
app.listen(Number(PORT), "127.0.0.1");

function hideModule(name) {
  const load = Module._load;
  Module._load = (request, ...rest) => {
    if (request === name) throw new Error(`${name} is disabled`);
    return load(request, ...rest);
  };
}
