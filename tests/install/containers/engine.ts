import { execFile, spawn } from "node:child_process";
import { copyFile, cp, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { type DebianRoot, makeDebianRoot } from "@/tests/support/process/debian-root";

const run = promisify(execFile);
const HUB = "docker.io/library";
const IMAGES = "tests/install/containers";
/** Inside of an image that is built: what npm needs to reach its registry as this machine does. */
const NPM = { settings: "/root/.npmrc", authorities: "/etc/homeport-authorities.crt", cache: "/root/.npm" };
const HEALTH_INTERVAL_MS = 500;

/** Podman with images and containers of its own, and Docker Compose as its client. */
export type Engine = {
  /** A file of the engine's folder, which is removed with it. */
  file: (name: string) => string;
  podman: (...args: string[]) => Promise<string>;
  /** Runs shell commands of the guide in a folder. `docker` is podman, and Docker Compose. */
  shell: (folder: string, script: string) => Promise<string>;
  remove: () => Promise<void>;
};

/** Starts the engine with the images that deploy/ names, as Debian's packages and this Node.js make them. */
export async function startEngine(): Promise<Engine> {
  const folder = await mkdtemp("/var/tmp/homeport-containers-");
  const file = (name: string) => path.join(folder, name);
  const env = { ...process.env, ...(await configure(file)), DISABLE_HC_SYSTEMD: "true" };
  const options = { env, maxBuffer: 50_000_000 };
  const podman = async (...args: string[]) => (await run("podman", args, options)).stdout.trim();
  const socket = `unix://${file("docker.sock")}`;
  const service = spawn("podman", ["system", "service", "--time=0", socket], { env, stdio: "ignore" });
  const checks = checkHealth(podman);
  const shell = async (cwd: string, script: string) => {
    const shims = await shimsOf(file, folder);
    const shellEnv = { ...env, DOCKER_HOST: socket };
    const { stdout } = await run("bash", ["-ec", `${shims}${script}`], { ...options, cwd, env: shellEnv });
    return stdout;
  };
  const remove = async () => {
    await checks.stop();
    await podman("rm", "--all", "--force", "--volumes", "--time=0");
    await podman("network", "prune", "--force");
    service.kill();
    await podman("image", "rm", "--all", "--force");
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await makeImages(file, podman);
    return { file, podman, shell, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Settings of Podman that work in a container and without systemd. */
async function configure(file: Engine["file"]): Promise<Record<string, string>> {
  await writeFile(
    file("containers.conf"),
    `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=10000:10000"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
tmp_dir = "${file("tmp")}"
[network]
network_config_dir = "${file("networks")}"
`,
  );
  const storage = `[storage]\ndriver = "overlay"\ngraphroot = "${file("graph")}"\nrunroot = "${file("run")}"\n`;
  await writeFile(file("storage.conf"), storage);
  return { CONTAINERS_CONF: file("containers.conf"), CONTAINERS_STORAGE_CONF: file("storage.conf") };
}

/** Checks the health of Compose's containers, which Docker does by itself, and Podman by systemd. */
function checkHealth(podman: Engine["podman"]) {
  let isOver = false;
  const done = (async () => {
    while (!isOver) {
      await delay(HEALTH_INTERVAL_MS);
      const listed = await podman("ps", "--quiet", "--filter=label=com.docker.compose.project").catch(() => "");
      const ids = listed.split("\n").filter((id) => id !== "");
      await Promise.all(ids.map((id) => podman("healthcheck", "run", id).catch(() => "")));
    }
  })();
  const stop = () => {
    isOver = true;
    return done;
  };
  return { stop };
}

/** The base images: Debian 13, with Node.js and npm, with PostgreSQL, and with Caddy. Takes Docker Compose from there too. */
async function makeImages(file: Engine["file"], podman: Engine["podman"]): Promise<void> {
  const [base, servers] = await Promise.all([
    makeDebianRoot(["bash"]),
    makeDebianRoot(["postgresql-17", "caddy", "docker-compose"]),
  ]);
  try {
    await copyFile(path.join(servers.folder, "usr/libexec/docker/cli-plugins/docker-compose"), file("docker-compose"));
    await importRoot(base, `${HUB}/debian:trixie-slim`, file, podman);
    await importRoot(servers, "localhost/servers", file, podman);
  } finally {
    await Promise.all([base.remove(), servers.remove()]);
  }
  await mkdir(file("node"));
  const npm = path.dirname(path.dirname(await realpath((await run("which", ["npm"])).stdout.trim())));
  await copyFile(process.execPath, file("node/node"));
  await cp(npm, file("node/npm"), { recursive: true });
  const build = (folder: string, name: string, lines: string[]) => {
    const options = ["--isolation=chroot", "--network=host", "--pull=never", "--format=docker", `--tag=${HUB}/${name}`];
    return writeFile(file("Containerfile"), `${lines.join("\n")}\n`).then(() =>
      podman("build", "--quiet", ...options, `--file=${file("Containerfile")}`, folder),
    );
  };
  await build(file("node"), "node:24-trixie-slim", [
    "FROM debian:trixie-slim",
    "COPY node /usr/local/bin/",
    "COPY npm /usr/local/lib/node_modules/npm",
    "RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm",
  ]);
  await build(IMAGES, "postgres:17-trixie", [
    "FROM localhost/servers",
    "COPY --chmod=755 postgres.sh /usr/local/bin/",
    "ENV PATH=/usr/local/bin:/usr/lib/postgresql/17/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "VOLUME /var/lib/postgresql/data",
    "STOPSIGNAL SIGINT",
    'ENTRYPOINT ["postgres.sh"]',
  ]);
  await build(IMAGES, "caddy:2", [
    "FROM localhost/servers",
    "ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data",
    'CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile"]',
  ]);
}

async function importRoot(root: DebianRoot, name: string, file: Engine["file"], podman: Engine["podman"]) {
  const archive = file("root.tar");
  await run("tar", ["--create", "--file", archive, "--directory", root.folder, "."]);
  await podman("import", "--quiet", archive, name);
  await rm(archive);
}

/** `docker` for the guide's commands. The image is built once, from the Dockerfile, with this machine's registry and cache of npm. */
async function shimsOf(file: Engine["file"], folder: string): Promise<string> {
  const npm = async (name: string) => (await run("npm", ["config", "get", name])).stdout.trim();
  const [registry, cafile, cache] = await Promise.all(["registry", "cafile", "cache"].map(npm));
  const hasAuthorities = cafile !== undefined && cafile !== "null";
  const settings = `registry=${registry}\n${hasAuthorities ? `cafile=${NPM.authorities}\n` : ""}`;
  await writeFile(file("npmrc"), settings);
  const volumes = [
    `${file("npmrc")}:${NPM.settings}:ro`,
    `${cache}:${NPM.cache}`,
    ...(hasAuthorities ? [`${cafile}:${NPM.authorities}:ro`] : []),
  ];
  const build = `--isolation=chroot --network=host --pull=never --format=docker ${volumes.map((volume) => `--volume=${volume}`).join(" ")}`;
  return `docker() {
  case "$1 $2" in
    "compose build") ;;
    "compose "*) shift; for word; do shift; [ "$word" = --build ] || set -- "$@" "$word"; done; "${folder}/docker-compose" "$@";;
    "build "*) shift; podman build ${build} --ignorefile=deploy/Dockerfile.dockerignore "$@";;
    *) podman "$@";;
  esac
}
`;
}
