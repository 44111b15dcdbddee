import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { anyDatabase, newDataDir, type Service, startForTest } from "@/tests/support/process/service";
import { manifestEntry, manifestText, remoteArtifact } from "@/tests/support/releases/releases";
import { hasCommands } from "@/tests/support/requirements";

const MIB = 1024 * 1024;

/**
 * A service whose Windows installer is a file with these bytes, or a sparse one of so many. With several file names it is
 * the installer of 1.0.0, 1.0.1 and so on.
 */
async function serve(
  content: Buffer | number,
  env: Record<string, string> = {},
  fileNames = ["setup.exe"],
): Promise<Service> {
  const DATA_DIR = await newDataDir();
  const folder = path.join(DATA_DIR, "releases");
  const file = path.join(folder, "setup.exe");
  await mkdir(folder);
  await writeFile(file, typeof content === "number" ? "" : content);
  if (typeof content === "number") await truncate(file, content);
  const sizeBytes = typeof content === "number" ? content : content.byteLength;
  const sha256 = typeof content === "number" ? await sha256OfFile(file) : sha256Of(content);
  const entries = fileNames.map((fileName, i) => {
    const installer = remoteArtifact({ url: undefined, file: "setup.exe", fileName, sizeBytes, sha256 });
    return manifestEntry({ version: `1.0.${i}`, artifacts: { installer } });
  });
  await writeFile(path.join(folder, "catalog.json"), manifestText(entries));
  return startForTest({ ...env, ...(await anyDatabase()), DATA_DIR });
}

const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file, { highWaterMark: MIB })) hash.update(chunk);
  return hash.digest("hex");
}

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

/** The live memory of a service's process, in MiB. */
async function liveMib({ pid, output }: Service): Promise<number> {
  const reported = () => [...output().matchAll(/live bytes: (\d+)/g)];
  const before = reported().length;
  process.kill(pid ?? 0, "SIGUSR2");
  await expect.poll(() => reported().length).toBe(before + 1);
  return Number(reported()[before]?.[1]) / MIB;
}

test("fifty downloads of 1 GiB at once, half of them of several ranges, add less than 50 MiB of memory", {
  timeout: 180_000,
}, async () => {
  const service = await serve(1024 * MIB, MEMORY_ENV);
  const { hostname, port } = new URL(service.url);
  const start = (_: unknown, i = 0) => {
    const socket = connect(Number(port), hostname).on("error", () => {});
    const range = i % 2 === 0 ? "" : `Range: bytes=0-${300 * MIB},${400 * MIB}-,-9,${350 * MIB}-${350 * MIB}\r\n`;
    socket.write(`GET /api/download/windows HTTP/1.1\r\nHost: localhost\r\n${range}\r\n`);
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
  await read(start(null), 32 * MIB);
  const before = await liveMib(service);
  const sockets = Array.from({ length: 50 }, start);
  const grown: number[] = [];
  for (let round = 0; round < 4; round++) {
    await Promise.all(sockets.map((socket) => read(socket, 4 * MIB)));
    grown.push((await liveMib(service)) - before);
  }
  expect(Math.max(...grown)).toBeLessThan(50);
});

// Debian's curl; .ci/run installs it.
describe.runIf(hasCommands("curl"))("curl", () => {
  const run = async (...args: string[]) => {
    const cwd = await newDataDir();
    const child = spawn("curl", ["-fsS", ...args], { cwd, stdio: "inherit" });
    expect(await once(child, "exit")).toEqual([0, null]);
    return cwd;
  };

  test("saves a download under its name, with ASCII letters instead of others", async () => {
    const bytes = randomBytes(1000);
    const names = {
      "Setup 1.4.0 (x64).exe": "Setup 1.4.0 (x64).exe",
      'Größe "1".exe': "Grosse _1_.exe",
      "'Łódź'; 100%25.exe": "_Lodz_; 100_25.exe",
      "设置-1.4.0.exe": "__-1.4.0.exe",
    };
    const service = await serve(bytes, {}, Object.keys(names));
    for (const [i, name] of Object.values(names).entries()) {
      const folder = await run("-OJ", `${service.url}/api/download/windows?version=1.0.${i}`);
      expect(await readdir(folder)).toEqual([name]);
      expect((await readFile(path.join(folder, name))).equals(bytes)).toBe(true);
    }
  });

  test("gets several ranges in one response of the length that it announces", async () => {
    const bytes = randomBytes(MIB);
    const service = await serve(bytes);
    const folder = await run("-r", "0-99999,500000-599999", "-o", "got", `${service.url}/api/download/windows`);
    const got = await readFile(path.join(folder, "got"));
    const ranges = [bytes.subarray(0, 100_000), bytes.subarray(500_000, 600_000)];
    expect(ranges.map((range) => got.includes(range))).toEqual([true, true]);
    expect(got.byteLength).toBeLessThan(200_500);
  });
});

/** A download program: what it is told. Each tries once. */
const PROGRAMS: [name: string, args: (url: string, sha256: string) => string[]][] = [
  ["curl", (url) => ["-fsS", "-C", "-", "-o", "got.exe", url]],
  ["wget", (url) => ["-q", "-c", "--tries=1", "-O", "got.exe", url]],
  [
    "aria2c",
    (url, sha256) => [
      ...["-q", "-c", "-x4", "-s4", "-k1M", "--max-tries=1", "--file-allocation=none"],
      ...[`--checksum=sha-256=${sha256}`, "-o", "got.exe", url],
    ],
  ],
];

/** An address of the service's whose connections break, each after so many bytes. */
async function breaking({ url }: Service, afterBytes: number): Promise<string> {
  const { hostname, port } = new URL(url);
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) socket.on("error", () => socket.destroy());
    near.pipe(far).on("data", (chunk) => {
      near.write(chunk);
      if (far.bytesRead > afterBytes) near.end();
      if (far.bytesRead > afterBytes) far.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

// Debian's curl, wget and aria2; .ci/run installs them.
describe.each(PROGRAMS.filter(([name]) => hasCommands(name)))("%s", (name, args) => {
  test("resumes an aborted download, and has every byte at the end", async () => {
    const bytes = randomBytes(8 * MIB);
    const service = await serve(bytes);
    const cwd = await newDataDir();
    const got = path.join(cwd, "got.exe");
    const run = async (url: string) => {
      const to = `${url}/api/download/windows?version=1.0.0`;
      const child = spawn(name, args(to, sha256Of(bytes)), { cwd, stdio: "inherit" });
      return (await once(child, "exit")) as [number | null, string | null];
    };
    const [code] = await run(await breaking(service, MIB));
    expect(code).not.toBe(0);
    const part = await readFile(got);
    expect(part.byteLength).toBeGreaterThan(0);
    expect(sha256Of(part)).not.toBe(sha256Of(bytes));
    expect(await run(service.url)).toEqual([0, null]);
    expect(sha256Of(await readFile(got))).toBe(sha256Of(bytes));
  });
});
