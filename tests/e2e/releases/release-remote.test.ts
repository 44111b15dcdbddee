import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listenForTest } from "@/tests/support/network/listen";
import { createKeyOf } from "@/tests/support/process/api-key";
import { runCommand, startCommand } from "@/tests/support/process/command";
import { newDataDir, type Service, startService } from "@/tests/support/process/service";
import { startOrigin } from "@/tests/support/releases/origin";
import { toolOutput, writeElectronUpdate } from "@/tests/support/releases/tools/output";

const CORE = ["--product", "core", "--platform", "windows", "--arch", "x64"];
const PART_BYTES = 8 * 1024 * 1024;

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.end("SIGKILL"));

/** The environment in which the commands publish to the service from elsewhere. */
async function newRemote() {
  const folder = await newDataDir();
  const HOMEPORT_API_KEY = await createKeyOf(service, "releases:write");
  return { folder, env: { HOMEPORT_URL: service.url, HOMEPORT_API_KEY, XDG_CACHE_HOME: path.join(folder, "cache") } };
}

/** A proxy that passes the bytes of uploads on, and counts them. */
async function startCounter() {
  const counter = { partBytes: 0, onPart: () => {} };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const { method = "GET", headers } = request;
    const upstream = httpRequest(`${service.url}${request.url}`, { method, headers }, (answer) => {
      if (method === "PATCH" && answer.statusCode === 204) {
        counter.partBytes += Number(headers["content-length"]);
        counter.onPart();
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    upstream.on("error", () => response.destroy());
    request.on("error", () => upstream.destroy());
    request.pipe(upstream);
  });
  return { counter, url: `http://${await listenForTest(server)}` };
}

test("the commands publish and remove releases of a service elsewhere, and print one JSON document each", async () => {
  const { folder, env } = await newRemote();
  const run = async (...args: string[]) => {
    const { code, stdout } = await runCommand("homeport", ["release", ...args, "--json"], env);
    return { code, json: JSON.parse(stdout) };
  };
  const dist = toolOutput(path.join(folder, "dist"));
  await writeElectronUpdate(dist, "latest.yml", "2.0.0", ["Example Setup 2.0.0.exe"], { releaseNotes: "Faster" });
  await writeElectronUpdate(dist, "latest-mac.yml", "2.0.0", ["Example-2.0.0-universal-mac.zip"]);
  const [macId, id] = ["core-macos-universal-2.0.0", "core-windows-x64-2.0.0"];
  expect(await run("add-folder", dist.folder, "--product", "core")).toMatchObject({
    code: 0,
    json: { releases: [macId, id].map((one) => ({ id: one, outcome: "added" })) },
  });
  expect(await run("list", "--platform", "windows")).toMatchObject({ json: [{ id, notes: "Faster" }] });
  const download = await service.fetch("/api/download/windows?version=2.0.0");
  const bytes = await readFile(path.join(dist.folder, "Example Setup 2.0.0.exe"));
  expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true);
  expect(await run("remove", id, "--yes")).toMatchObject({ code: 1, json: { error: { code: "release_in_use" } } });
  expect(await run("yank", id)).toMatchObject({ code: 0, json: { releases: [{ id, outcome: "changed" }] } });
  expect(await run("remove", id, "--yes")).toMatchObject({ code: 0, json: { releases: [id] } });
  expect(await run("edit", id)).toMatchObject({ code: 2, json: { error: { code: "invalid_arguments" } } });
});

test("an upload that is killed continues where it was", async () => {
  const { folder, env } = await newRemote();
  const { counter, url } = await startCounter();
  const bytes = randomBytes(2 * PART_BYTES + 1000);
  const file = path.join(folder, "setup.exe");
  await writeFile(file, bytes);
  const args = ["add", file, ...CORE, "--version", "3.0.0"];
  const killed = startCommand("homeport", ["release", ...args], { ...env, HOMEPORT_URL: url });
  counter.onPart = () => {
    if (counter.partBytes >= 2 * PART_BYTES) killed.child.kill("SIGKILL");
  };
  expect((await killed.ended).code).toBeNull();
  expect((await service.fetch("/api/download/windows?version=3.0.0")).status).toBe(404);
  counter.onPart = () => {};
  counter.partBytes = 0;
  const again = await startCommand("homeport", ["release", ...args], { ...env, HOMEPORT_URL: url }).ended;
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("Published core-windows-x64-3.0.0") });
  expect(counter.partBytes).toBeLessThanOrEqual(1000);
  const download = Buffer.from(await (await service.fetch("/api/download/windows?version=3.0.0")).arrayBuffer());
  expect(createHash("sha256").update(download).digest("hex")).toBe(createHash("sha256").update(bytes).digest("hex"));
  expect(await readdir(path.join(folder, "cache", "homeport-release"))).toEqual([]);
});

test("an import that was killed goes on after the files that it has, and offers nothing before --publish", async () => {
  const { env } = await newRemote();
  const files = new Map(["x64", "arm64"].map((name) => [`/Example-3.0.0-${name}.exe`, randomBytes(2000)]));
  const described = [...files].map(([name, bytes]) => {
    const sha512 = createHash("sha512").update(bytes).digest("base64");
    return `  - { url: ".${name}", sha512: "${sha512}", size: ${bytes.length} }`;
  });
  let onStuck = () => {};
  const stuck = new Promise<void>((resolve) => {
    onStuck = resolve;
  });
  const origin = await startOrigin(({ url = "" }, response) => {
    if (url === "/latest.yml") return response.end(`version: 3.0.0\nfiles:\n${described.join("\n")}\n`);
    const bytes = files.get(url);
    if (!url.endsWith("-arm64.exe") || origin.asked.filter((one) => one.url === url).length > 1)
      return response.writeHead(bytes ? 200 : 404).end(bytes);
    response.write(bytes?.subarray(0, 1000));
    return onStuck();
  });
  const args = ["release", "import", `${origin.url}/latest.yml`, "--product", "tools", "--new"];
  const { child, ended } = startCommand("homeport", args, env);
  await stuck;
  child.kill("SIGKILL");
  await ended;
  const { code, stdout } = await runCommand("homeport", args, env);
  expect([code, stdout]).toEqual([
    0,
    "3.0.0  stable  -  2 files  imported\nNobody is offered them yet: look at them with list, then run import again with --publish.\n",
  ]);
  expect(origin.asked.filter(({ url }) => url?.endsWith("-x64.exe")).length).toBe(1);
  expect((await service.fetch("/api/updates/tools/stable/latest.yml")).status).toBe(404);
  expect(await runCommand("homeport", [...args, "--publish"], env)).toMatchObject({ code: 0 });
  expect(await (await service.fetch("/api/updates/tools/stable/latest.yml")).text()).toContain('version: "3.0.0"');
});
