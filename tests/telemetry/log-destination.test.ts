import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { openLogDestination } from "@/lib/platform/telemetry/log";

const newFile = async () => path.join(await mkdtemp(path.join(tmpdir(), "homeport-log-")), "log");

test("lines are written whole and in order, however many there are", async () => {
  const file = await newFile();
  const fd = openSync(file, "w");
  const destination = openLogDestination(fd);
  const sent = Array.from({ length: 20_000 }, (_, i) => `line ${i} äöü\n`);
  for (const line of sent) destination.write(line);
  await expect.poll(() => readFileSync(file, "utf8").length).toBe(sent.join("").length);
  expect(readFileSync(file, "utf8")).toBe(sent.join(""));
  closeSync(fd);
});

test("a single line is written without further lines", async () => {
  const file = await newFile();
  const fd = openSync(file, "w");
  openLogDestination(fd).write("alone\n");
  await expect.poll(() => readFileSync(file, "utf8")).toBe("alone\n");
  closeSync(fd);
});

test("flushSync has written all lines when it returns", async () => {
  const file = await newFile();
  const fd = openSync(file, "w");
  const destination = openLogDestination(fd);
  destination.write("the last words\n");
  destination.flushSync();
  expect(readFileSync(file, "utf8")).toBe("the last words\n");
  closeSync(fd);
});

test("lines that cannot be written are dropped, and block nothing", async () => {
  const file = await newFile();
  writeFileSync(file, "");
  const fd = openSync(file, "r");
  const destination = openLogDestination(fd);
  for (let i = 0; i < 20_000; i += 1) destination.write(`line ${i}\n`);
  destination.flushSync();
  expect(readFileSync(file, "utf8")).toBe("");
  closeSync(fd);
});
