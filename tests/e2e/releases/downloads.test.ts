import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { listenForTest } from "@/tests/support/network/listen";
import { anyDatabase, newDataDir, type Service, startService } from "@/tests/support/process/service";
import { type EntryFields, manifestEntry } from "@/tests/support/releases/entries";
import { describeFile, manifestText } from "@/tests/support/releases/releases";
import { hasCommands } from "@/tests/support/requirements";

const MIB = 1024 * 1024;

/** Has the service print the bytes that are live after a garbage collection at each SIGUSR2. */
const REPORT_MEMORY = `import v8 from "node:v8"; import vm from "node:vm";
v8.setFlagsFromString("--expose-gc");
process.on("SIGUSR2", () => {
  const collect = vm.runInNewContext("gc");
  collect();
  collect(); // what the first frees, another thread subtracts later
  const { heapUsed, external } = process.memoryUsage();
  console.log("live bytes: " + (heapUsed + external));
})`;
/** The resident memory says nothing: what it counts as well was freed, and is not given back to the system yet. */
const MEMORY_ENV = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(REPORT_MEMORY)}` };

/** File names, and those under which a client saves them. */
const NAMES = { 'Größe "1".exe': "Grosse _1_.exe", "'Łódź'; 设置 100%25.exe": "_Lodz_; __ 100_25.exe" };
const BYTES = randomBytes(8 * MIB);

let service: Service;

/** The installer of "core" has these bytes, that of "large" 128 MiB; each version of "names" has another file name. */
beforeAll(async () => {
  const DATA_DIR = await newDataDir();
  const folder = path.join(DATA_DIR, "releases");
  await mkdir(folder);
  const store = async (file: string, bytes: Buffer) => {
    await writeFile(path.join(folder, file), bytes);
    return describeFile(file, bytes);
  };
  const [small, large] = [await store("setup.exe", BYTES), await store("large.exe", Buffer.alloc(128 * MIB))];
  const release = (product: string, artifact: EntryFields, version = "1.0.0") =>
    manifestEntry({ product, version, artifacts: { installer: artifact } });
  const names = Object.keys(NAMES).map((fileName, i) => release("names", { ...small, fileName }, `1.0.${i}`));
  const releases = [release("core", small), release("large", large), ...names];
  await writeFile(path.join(folder, "catalog.json"), manifestText(releases));
  service = await startService({ ...MEMORY_ENV, ...(await anyDatabase()), DATA_DIR });
});
afterAll(() => service.end("SIGKILL"));

const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** The live memory of the service's process, in MiB. */
async function liveMib(): Promise<number> {
  const { pid, output } = service;
  const reported = () => [...output().matchAll(/live bytes: (\d+)/g)];
  const before = reported().length;
  process.kill(pid ?? 0, "SIGUSR2");
  await expect.poll(() => reported().length).toBe(before + 1);
  return Number(reported()[before]?.[1]) / MIB;
}

test("fifty downloads of 128 MiB at once, half of them of several ranges, add less than 50 MiB of memory", async () => {
  const { hostname, port } = new URL(service.url);
  const start = (_: unknown, i = 0) => {
    const socket = connect(Number(port), hostname).on("error", () => {});
    const range = i % 2 === 0 ? "" : `Range: bytes=0-${40 * MIB},${50 * MIB}-,-9,${45 * MIB}-${45 * MIB}\r\n`;
    socket.write(`GET /api/download/windows?product=large HTTP/1.1\r\nHost: localhost\r\n${range}\r\n`);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  /** Reads so many bytes, and then takes nothing more. */
  const read = (socket: Socket, bytes: number) =>
    new Promise<void>((done) => {
      let missing = bytes;
      socket.resume().on("data", function take(chunk) {
        missing -= chunk.byteLength;
        if (missing > 0) return;
        socket.off("data", take).pause();
        done();
      });
    });
  await service.fetch("/"); // from here on Next is loaded
  await read(start(null), 8 * MIB);
  const before = await liveMib();
  const sockets = Array.from({ length: 50 }, start);
  const grown: number[] = [];
  for (let round = 0; round < 2; round++) {
    await Promise.all(sockets.map((socket) => read(socket, 2 * MIB)));
    grown.push((await liveMib()) - before);
  }
  expect(Math.max(...grown)).toBeLessThan(50);
});

// Debian's curl; .ci/run installs it.
test.runIf(hasCommands("curl"))("curl saves a download under its name, in ASCII", async () => {
  for (const [i, name] of Object.values(NAMES).entries()) {
    const cwd = await newDataDir();
    const url = `${service.url}/api/download/windows?product=names&version=1.0.${i}`;
    const child = spawn("curl", ["-fsSOJ", url], { cwd, stdio: "inherit" });
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(await readdir(cwd)).toEqual([name]);
  }
});

/** An address of the service's whose connections break, each after so many bytes. */
async function breaking(afterBytes: number): Promise<string> {
  const { hostname, port } = new URL(service.url);
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) socket.on("error", () => socket.destroy());
    near.pipe(far).on("data", (chunk) => {
      near.write(chunk);
      if (far.bytesRead > afterBytes) near.end();
      if (far.bytesRead > afterBytes) far.destroy();
    });
  });
  return `http://${await listenForTest(server)}`;
}

// Debian's aria2; .ci/run installs it. curl resumes in the test of the guide.
test.runIf(hasCommands("aria2c"))("aria2c resumes an aborted download, and has every byte at the end", async () => {
  const cwd = await newDataDir();
  const options = ["-q", "-c", "-x4", "-s4", "-k1M", "--max-tries=1", "--file-allocation=none", "-o", "got.exe"];
  const run = async (url: string) => {
    const download = [`--checksum=sha-256=${sha256Of(BYTES)}`, `${url}/api/download/windows?version=1.0.0`];
    const child = spawn("aria2c", [...options, ...download], { cwd, stdio: "inherit" });
    return (await once(child, "exit")) as [number | null, string | null];
  };
  const got = () => readFile(path.join(cwd, "got.exe"));
  const [code] = await run(await breaking(MIB));
  expect(code).not.toBe(0);
  expect((await got()).equals(BYTES)).toBe(false);
  expect(await run(service.url)).toEqual([0, null]);
  expect((await got()).equals(BYTES)).toBe(true);
});
