import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { debianMirror } from "@/tests/support/process/debian-root";
import { hasCommands, requirement } from "@/tests/support/requirements";

const MAX_MB = 50;
/** The whole machine's: Debian, systemd, the service, and apt at work. */
const MEMORY_MB = 512;
/** ELF's e_machine. */
const MACHINES = { amd64: 62, arm64: 183 };
const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
const canRun =
  requirement("root on Linux", process.platform === "linux" && process.getuid?.() === 0) &&
  hasCommands("mmdebstrap", "podman", "runc", "dpkg-deb", "nsenter");

const run = promisify(execFile);
const inFolder = (folder: string) => (name: string) => path.join(folder, name);

describe.runIf(canRun)("the Debian package", () => {
  let work: (name: string) => string;
  /** Of podman's sockets, whose paths are short. */
  let runFolder: string;
  const deb = (architecture: keyof typeof MACHINES, of = version) => work(`first/homeport_${of}_${architecture}.deb`);

  beforeAll(async () => {
    // On a disk: in memory, the machine's files would count towards its limit.
    work = inFolder(await mkdtemp("/var/tmp/homeport-debian-"));
    runFolder = await mkdtemp("/run/homeport-");
    await Promise.all([packageInto(work("first")), makeRoot(work("root"))]);
    await bootMachine();
  });
  afterAll(async () => {
    await podman("rm", "--force", "--time=5", "machine");
    for (const folder of [work(""), runFolder]) {
      await rm(folder, { recursive: true, force: true, maxRetries: 10 }); // podman may still be removing its own
    }
  });

  const packageInto = (folder: string) => run("npm", ["run", "--silent", "package:deb", "--", folder]);

  /** Debian 13 with what the package depends on, from this machine's mirror. */
  async function makeRoot(root: string): Promise<void> {
    const packages = "--include=systemd,nodejs,caddy,curl,man-db,bash-completion";
    await run("mmdebstrap", ["--quiet", "--variant=minbase", packages, "trixie", root, await debianMirror()]);
  }

  /** Boots the root with systemd, without a network. */
  async function bootMachine(): Promise<void> {
    const limits = [`--memory=${MEMORY_MB}m`, `--memory-swap=${MEMORY_MB}m`, "--ulimit=nofile=20000:20000"];
    const options = ["--detach", "--name=machine", "--systemd=always", "--privileged", "--network=none", ...limits];
    await podman("run", ...options, "--ulimit=nproc=10000:10000", "--rootfs", work("root"), "/lib/systemd/systemd");
    await onMachine(
      "timeout 120 sh -c \"until systemctl is-system-running | grep -qE 'running|degraded'; do sleep 0.2; done\"",
    );
  }

  function podman(...args: string[]) {
    const folders = [`--root=${work("podman")}`, `--runroot=${runFolder}`, `--tmpdir=${runFolder}/tmp`];
    return run("podman", [...folders, "--storage-driver=vfs", "--runtime=runc", "--cgroup-manager=cgroupfs", ...args]);
  }

  /** Runs a script as root on the machine, whose root needs no sudo. */
  async function onMachine(script: string): Promise<string> {
    const all = `set -e; sudo() { "$@"; }; ${script}`;
    const env = ["--env=DEBIAN_FRONTEND=noninteractive", "--env=LC_ALL=C.UTF-8", "--env=HOME=/root"];
    return (await podman("exec", ...env, "machine", "bash", "-c", all)).stdout.trim();
  }

  async function install(file: string): Promise<string> {
    await copyFile(file, work("root/root/homeport.deb"));
    return onMachine("apt-get install -y -qq -o Dpkg::Options::=--force-unsafe-io /root/homeport.deb 2>&1");
  }

  const health = () =>
    onMachine("curl -sf --retry 60 --retry-delay 1 --retry-connrefused http://localhost:3000/api/health");
  const foreignFiles = () => onMachine("find /var/lib/homeport /var/backups/homeport ! -user homeport");

  test(`is the same at every build, takes ${MAX_MB} MB at most, and has what its machine needs`, async () => {
    await packageInto(work("second"));
    for (const [architecture, machine] of Object.entries(MACHINES)) {
      const name = path.basename(deb(architecture as keyof typeof MACHINES));
      const [first = Buffer.alloc(0), second] = await Promise.all(
        ["first", "second"].map((at) => readFile(work(`${at}/${name}`))),
      );
      expect(createHash("sha256").update(first).digest("hex")).toBe(
        createHash("sha256")
          .update(second ?? "")
          .digest("hex"),
      );
      expect(first.length / 1e6).toBeLessThan(MAX_MB);
      await mkdir(work(architecture));
      const unpack = `dpkg-deb --fsys-tarfile ${work(`first/${name}`)} | tar -x -C ${work(architecture)} --wildcards '*.node'`;
      await run("bash", ["-c", unpack]);
      const compiled = (await run("find", [work(architecture), "-name", "*.node"])).stdout.trim().split("\n");
      expect(compiled.length).toBeGreaterThan(0);
      for (const file of compiled) expect((await readFile(file)).readUInt16LE(18)).toBe(machine);
    }
  });

  test("leaves a running and enabled service on port 3000, within its sandbox", async () => {
    expect(await install(deb("amd64"))).toContain("sudo homeport first-operator");
    expect(await onMachine("systemctl is-active homeport; systemctl is-enabled homeport")).toBe("active\nenabled");
    expect(await health()).toContain('"status":"ok"');
    const units = ["homeport", "homeport@3001", "homeport-worker"].map((name) => `${name}.service`);
    expect(await onMachine(`systemd-analyze verify --man=no ${units.join(" ")} 2>&1`)).toBe("");
    for (const unit of units) await onMachine(`systemd-analyze security --offline=true --threshold=20 ${unit}`);
    expect(await onMachine("stat -c '%a %U %G' /etc/homeport/env /var/lib/homeport")).toBe(
      "640 root homeport\n700 homeport homeport",
    );
    expect(await onMachine("dpkg --verify homeport")).toBe("");
  });

  test("prints the link for the first operator, until there is one", async () => {
    expect(await onMachine("homeport first-operator")).toMatch(
      /^http:\/\/localhost:3000\/first-operator#token=[\w-]{43}$/,
    );
    const id = await onMachine("homeport accounts create ann@example.com");
    await onMachine(`homeport accounts grant ${id} admin`);
    await expect(onMachine("homeport first-operator")).rejects.toMatchObject({
      stderr: expect.stringContaining("There is an admin already"),
    });
  });

  test("passes the tour", async () => {
    const pid = (await podman("inspect", "--format={{.State.Pid}}", "machine")).stdout.trim();
    const env = { ...process.env, DATA_DIR: work("root/var/lib/homeport") };
    const args = [
      "--target",
      pid,
      "--net",
      process.execPath,
      "--import",
      "tsx",
      "dev/tour.ts",
      "http://localhost:3000",
    ];
    expect((await run("nsenter", args, { env })).stdout).toContain("All responses are as expected.");
  });

  test("has a manual page and a completion", async () => {
    expect(await onMachine("man homeport | cat")).toContain("homeport release add <file>");
    const script =
      "source /usr/share/bash-completion/completions/homeport; COMP_WORDS=(homeport keys re) COMP_CWORD=2; _homeport; echo $COMPREPLY";
    expect(await onMachine(script)).toBe("revoke");
  });

  test("root's commands read root's files, and leave none that the service cannot read", async () => {
    await onMachine("umask 077; echo installer > /root/Acme.exe");
    await onMachine(
      "cd /root; homeport release add Acme.exe --product acme --platform windows --arch x64 --version 1.0.0",
    );
    await onMachine(
      "homeport backup; systemctl stop homeport; homeport backup; homeport accounts create bob@example.com",
    );
    expect(await foreignFiles()).toBe("");
    await onMachine("systemctl start homeport");
    expect(await onMachine("homeport accounts list")).toMatch(/bob@example\.com[\s\S]*ann@example\.com/);
    expect(await onMachine("homeport audit list --json")).toContain('"operator:root"');
    const asOther = "setpriv --reuid=nobody --regid=nogroup --clear-groups homeport";
    await expect(onMachine(`${asOther} accounts list`)).rejects.toMatchObject({
      stderr: expect.stringContaining("with sudo"),
    });
    expect(await onMachine(`${asOther} accounts list --help`)).toContain("Usage:");
  });

  test("is served over https by Caddy after the guide's three commands", async () => {
    const guide = await readFile("docs/deploy.md", "utf8");
    const [, commands = ""] = /### Serve it over https\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(guide) ?? [];
    expect(commands.trim().split("\n")).toHaveLength(3);
    await onMachine(commands.replaceAll("updates.example.com", "updates.localhost"));
    expect(
      await onMachine("curl -sfk --retry 60 --retry-delay 1 --retry-all-errors https://updates.localhost/api/health"),
    ).toContain('"ok"');
    expect(await onMachine("grep ^NEXTAUTH_URL /etc/homeport/env")).toBe("NEXTAUTH_URL=https://updates.localhost");
  });

  test("keeps data and settings when a newer version replaces it, and migrates", async () => {
    const settings = await onMachine("sha256sum /etc/homeport/env");
    await install(await nextVersion());
    expect(await health()).toContain('"status":"ok"');
    expect(await onMachine("homeport --version; systemctl is-active homeport")).toBe("99.0.0\nactive");
    expect(await onMachine("homeport accounts list")).toContain("ann@example.com");
    expect(await onMachine("sha256sum /etc/homeport/env")).toBe(settings);
    expect(await onMachine("homeport db migrate 2>&1 || true")).toContain("is using /var/lib/homeport");
  });

  /** The package under a later version, with a migration of its own. */
  async function nextVersion(): Promise<string> {
    await run("dpkg-deb", ["--raw-extract", deb("amd64"), work("next")]);
    const edit = async (file: string, from: string, to: string) =>
      writeFile(work(file), (await readFile(work(file), "utf8")).replace(from, to));
    await edit("next/DEBIAN/control", `Version: ${version}`, "Version: 99.0.0");
    await edit("next/usr/lib/homeport/package.json", `"version": "${version}"`, '"version": "99.0.0"');
    const migration = work("next/usr/lib/homeport/prisma/migrations/99991231235959_next_release");
    await mkdir(migration);
    await writeFile(path.join(migration, "migration.sql"), 'ALTER TABLE "Account" ADD COLUMN "later" TEXT;\n');
    await run("dpkg-deb", ["--root-owner-group", "-Zzstd", "-z1", "--build", work("next"), work("next.deb")]);
    return work("next.deb");
  }

  test("keeps the data when it is removed, and deletes it when it is purged and the question is answered so", async () => {
    await onMachine("apt-get remove -y -qq homeport");
    expect(await onMachine("systemctl is-active homeport || ls /etc/homeport/env")).toBe("inactive\n/etc/homeport/env");
    await onMachine("apt-get purge -y -qq homeport");
    expect(await onMachine("ls -d /etc/homeport 2>&1 || true")).toContain("No such file");
    await install(deb("amd64"));
    expect(await onMachine("systemctl is-active homeport; homeport accounts list")).toMatch(
      /^active\n[\s\S]*ann@example\.com/,
    );
    await onMachine("echo homeport homeport/purge-data boolean true | debconf-set-selections");
    await onMachine("apt-get purge -y -qq homeport");
    expect(await onMachine("ls -d /var/lib/homeport /var/backups/homeport 2>&1 || true")).toMatch(
      /No such.*\n.*No such/,
    );
  });
});
