import { spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { newDataDir, type Service, startForTest } from "@/tests/support/process/service";
import { manifestEntry, manifestText, remoteArtifact } from "@/tests/support/releases/releases";

const MIB = 1024 * 1024;

/** A service whose newest Windows installer is a file with these bytes, or a sparse one of so many. */
async function serve(content: Buffer | number): Promise<Service> {
  const DATA_DIR = await newDataDir();
  const folder = path.join(DATA_DIR, "releases");
  const file = path.join(folder, "setup.exe");
  await mkdir(folder);
  await writeFile(file, typeof content === "number" ? "" : content);
  if (typeof content === "number") await truncate(file, content);
  const sizeBytes = typeof content === "number" ? content : content.byteLength;
  const sha256 = typeof content === "number" ? await sha256OfFile(file) : sha256Of(content);
  const installer = remoteArtifact({ url: undefined, file: "setup.exe", sizeBytes, sha256 });
  await writeFile(path.join(folder, "catalog.json"), manifestText([manifestEntry({ artifacts: { installer } })]));
  return startForTest({ DATA_DIR });
}

const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file, { highWaterMark: MIB })) hash.update(chunk);
  return hash.digest("hex");
}

/** The resident memory of a service's process, in MiB. */
async function residentMib({ pid }: Service): Promise<number> {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}

test("fifty downloads of 1 GiB at once add less than 50 MiB of memory", { timeout: 180_000 }, async () => {
  const service = await serve(1024 * MIB);
  const { hostname, port } = new URL(service.url);
  const start = () => {
    const socket = connect(Number(port), hostname).on("error", () => {});
    socket.write("GET /api/download/windows HTTP/1.1\r\nHost: localhost\r\n\r\n");
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
  await read(start(), 32 * MIB);
  const before = await residentMib(service);
  const sockets = Array.from({ length: 50 }, start);
  const grown: number[] = [];
  for (let round = 0; round < 4; round++) {
    await Promise.all(sockets.map((socket) => read(socket, 4 * MIB)));
    grown.push((await residentMib(service)) - before);
  }
  expect(Math.max(...grown)).toBeLessThan(50);
});

const has = (command: string) => spawnSync(command, ["--version"]).status === 0;

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
describe.each(PROGRAMS.filter(([name]) => has(name)))("%s", (name, args) => {
  test("resumes a download that was broken off, and ends with every byte", async () => {
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
