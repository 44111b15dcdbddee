import { type ExecFileOptions, execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const SUITE = "trixie";
const OPTIONS: ExecFileOptions = { maxBuffer: 50_000_000 };

export type DebianRoot = {
  folder: string;
  /** Runs a shell command as root inside, and resolves to its standard output. */
  run: (script: string, env?: Record<string, string>) => Promise<string>;
  remove: () => Promise<void>;
};

/** The mirror of Debian that this machine's apt uses. */
export async function debianMirror(): Promise<string> {
  const { stdout } = await run("apt-get", [
    "indextargets",
    "--format",
    "$(REPO_URI) $(SHORTDESC)",
    "Identifier: Packages",
  ]);
  const uri = stdout
    .split("\n")
    .find((line) => /\/debian\/? Packages$/.test(line))
    ?.split(" ")[0];
  if (!uri) throw new Error("apt has no source of Debian. Run apt-get update.");
  return uri;
}

/** A new root of Debian 13 with these packages. Needs root and mmdebstrap. On a disk: it is too large for memory. */
export async function makeDebianRoot(packages: string[]): Promise<DebianRoot> {
  const folder = await mkdtemp("/var/tmp/homeport-root-");
  const root = openDebianRoot(folder);
  const skipped = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*"];
  const options = skipped.map((pattern) => `--dpkgopt=path-exclude=${pattern}`);
  try {
    const include = `--include=${packages.join(",")}`;
    await run("mmdebstrap", ["--variant=minbase", include, ...options, SUITE, folder, await debianMirror()], OPTIONS);
    return root;
  } catch (error) {
    await root.remove();
    throw error;
  }
}

/** The root in a folder. Its mounts last as long as a command. */
export function openDebianRoot(folder: string): DebianRoot {
  const enter = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" /bin/sh -ec "$1"';
  return {
    folder,
    run: async (script, env = {}) => {
      const variables: Partial<NodeJS.ProcessEnv> = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", ...env };
      try {
        const { stdout } = await run("unshare", ["--mount", "sh", "-ec", enter, folder, script], {
          ...OPTIONS,
          env: variables as NodeJS.ProcessEnv,
        });
        return stdout.toString();
      } catch (error) {
        const { stdout, stderr, message } = error as Error & { stdout?: string; stderr?: string };
        throw new Error([message, stdout, stderr].join("\n").slice(-20_000));
      }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
