import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import packageManifest from "@/package.json" with { type: "json" };

const run = promisify(execFile);
const { version } = packageManifest;
const BUNDLES = ".next/bin";

describe("the files of a release", () => {
  let folder: string;
  const write = () => run(process.execPath, ["scripts/release.mjs", "files", folder], { maxBuffer: 64 * 1024 ** 2 });

  beforeAll(async () => {
    folder = path.join(await mkdtemp(path.join(tmpdir(), "homeport-release-")), "files");
    await write();
  }, 300_000);
  afterAll(() => rm(path.dirname(folder), { recursive: true }));

  test("are these, each with its checksum", async () => {
    const files = [
      `homeport-${version}.cdx.json`,
      `homeport-cli-${version}.tgz`,
      `homeport-client-${version}.tgz`,
      `homeport_${version}_amd64.deb`,
      `homeport_${version}_arm64.deb`,
    ];
    expect(await readdir(folder)).toEqual(["SHA256SUMS", ...files]);
    const { stdout } = await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: folder });
    expect(stdout).toBe(files.map((file) => `${file}: OK\n`).join(""));
  });

  test("are npm packages of this version, without install scripts", async () => {
    for (const name of ["cli", "client"]) {
      const file = path.join(folder, `homeport-${name}-${version}.tgz`);
      const { stdout } = await run("tar", ["-xOzf", file, "package/package.json"]);
      const manifest = JSON.parse(stdout);
      expect(manifest).toMatchObject({ name: `@homeport/${name}`, version });
      expect(manifest).not.toHaveProperty("private");
      expect(manifest).not.toHaveProperty("scripts");
    }
  });

  test("have a bill of materials of every package that an installation has, with its hash", async () => {
    const bill = JSON.parse(await readFile(path.join(folder, `homeport-${version}.cdx.json`), "utf8"));
    const { packages } = JSON.parse(await readFile("package-lock.json", "utf8")) as {
      packages: Record<string, { version: string; name?: string; dev?: true }>;
    };
    const installed = Object.entries(packages).flatMap(([file, { name, version, dev }]) =>
      file === "" || dev ? [] : [`${name ?? file.split("node_modules/").at(-1)}@${version}`],
    );
    const listed = bill.components as { purl: string; hashes: unknown[] }[];
    const ids = listed.map(({ purl }) => decodeURIComponent(purl.slice("pkg:npm/".length)));
    expect(ids.sort()).toEqual([...new Set(installed)].sort());
    expect(listed.filter(({ hashes }) => !hashes?.length)).toEqual([]);
    expect(bill).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { name: "homeport", version } } });
  });

  test("have the same bytes wherever and whenever their sources are built", async () => {
    const { sources, builtAt } = JSON.parse(await readFile(".next/build.json", "utf8"));
    expect(await readFile(".next/BUILD_ID", "utf8")).toBe(sources.slice(0, 20));
    expect(await readFile(".next/server/preview-props.json", "utf8")).toContain(sources.slice(0, 32));
    const contents = `dpkg-deb --fsys-tarfile ${folder}/homeport_${version}_amd64.deb`;
    const { stdout } = await run("bash", ["-c", `${contents} | grep -cF "$PWD" || true`]);
    expect(stdout).toBe("0\n");

    const elsewhere = path.join(path.dirname(folder), "elsewhere");
    await mkdir(path.join(elsewhere, BUNDLES), { recursive: true });
    for (const name of ["node_modules", "prisma"]) await symlink(path.resolve(name), path.join(elsewhere, name));
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(Date.parse(builtAt) / 1000) };
    await run(process.execPath, [path.resolve(BUNDLES, "database-template.mjs")], { cwd: elsewhere, env });
    const [database = ""] = await readdir(path.join(elsewhere, BUNDLES));
    const [again, built] = await Promise.all([elsewhere, ""].map((at) => readFile(path.join(at, BUNDLES, database))));
    expect(built && again?.equals(built)).toBe(true);
  });

  test("are never written over", async () => {
    await expect(write()).rejects.toThrow("EEXIST");
  });
});
