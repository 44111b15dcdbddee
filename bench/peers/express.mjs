// The same answer as its users write it: headers set, an object given to json(), which sees to 304 by itself.
import { readFileSync } from "node:fs";
import express from "express";

const { path, headers, body } = JSON.parse(readFileSync(process.env.ANSWER, "utf8"));
const { "content-type": type, ...set } = headers;
const answer = JSON.parse(body);

const app = express();
app.disable("x-powered-by");
app.get("/ready", (_request, response) => response.end());
app.get(path.split("?")[0], (_request, response) => response.set(set).json(answer));
app.listen(Number(process.env.PORT), "127.0.0.1");
