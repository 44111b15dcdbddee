// The same response in idiomatic Express: headers are set, and json() serializes an object and handles 304.
import { readFileSync } from "node:fs";
import express from "express";

const { path, headers, body } = JSON.parse(readFileSync(process.env.RESPONSE, "utf8"));
const { "content-type": type, ...set } = headers;
const responseBody = JSON.parse(body);

const app = express();
app.disable("x-powered-by");
app.get("/ready", (_request, response) => response.end());
app.get(path.split("?")[0], (_request, response) => response.set(set).json(responseBody));
app.listen(Number(process.env.PORT), "127.0.0.1");
