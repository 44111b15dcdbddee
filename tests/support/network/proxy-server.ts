import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { selfSigned } from "./tls-front";

const POLL_MS = 25;

type Ports = { https: number; http: number };

/**
 * Starts nginx or Caddy with the settings that lie in a machine's /etc, for localhost on other ports and with a
 * certificate of its own. `localize` puts in the machine's folders and the instances' ports. Resolves to what ends it.
 */
export async function startProxyServer(
  kind: "nginx" | "caddy",
  root: string,
  ports: Ports,
  localize: (text: string) => string,
): Promise<() => Promise<void>> {
  const folder = path.join(root, kind);
  await mkdir(folder);
  const { key, cert } = selfSigned();
  await writeFile(path.join(folder, "key.pem"), key);
  await writeFile(path.join(folder, "cert.pem"), cert);
  const args = await { nginx: nginxArguments, caddy: caddyArguments }[kind](root, folder, ports, localize);
  const child = spawn(kind, args, { env: { ...process.env, HOME: folder }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  while (!(await listens(ports.https))) {
    if (child.exitCode !== null) throw new Error(`${kind} did not start:\n${output}`);
    await delay(POLL_MS);
  }
  return async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  };
}

type Arguments = (root: string, folder: string, ports: Ports, localize: (text: string) => string) => Promise<string[]>;

const nginxArguments: Arguments = async (root, folder, { https, http }, localize) => {
  const given = await readFile(path.join(root, "etc/nginx/conf.d/homeport.conf"), "utf8");
  const site = localize(given.replace(/^ *listen \[::\].*\n/gm, ""))
    .replace("listen 80;", `listen 127.0.0.1:${http};`)
    .replace("listen 443 ", `listen 127.0.0.1:${https} `)
    .replaceAll("api.example.com;", "localhost;")
    .replace(/(ssl_certificate) .*;/, `$1 ${folder}/cert.pem;`)
    .replace(/(ssl_certificate_key) .*;/, `$1 ${folder}/key.pem;`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const user = process.getuid?.() === 0 ? "user root;" : "";
  const all = `daemon off; ${user} worker_processes 1; pid ${folder}/pid; error_log stderr notice;
    events { worker_connections 512; } http { access_log off; ${temporary.join(" ")}\n${site} }`;
  await writeFile(path.join(folder, "nginx.conf"), all);
  return ["-p", folder, "-c", path.join(folder, "nginx.conf"), "-e", "stderr"];
};

const caddyArguments: Arguments = async (root, folder, { https, http }, localize) => {
  const given = await readFile(path.join(root, "etc/caddy/Caddyfile"), "utf8");
  const site = localize(given)
    .replace("http://{$DOMAIN:api.example.com} {", `http://localhost:${http} {\n\tbind 127.0.0.1`)
    .replace(
      "{$DOMAIN:api.example.com} {",
      `localhost:${https} {\n\tbind 127.0.0.1\n\ttls ${folder}/cert.pem ${folder}/key.pem`,
    );
  const options = `{\n\tadmin off\n\thttp_port ${http}\n\thttps_port ${https}\n}\n`;
  await writeFile(path.join(folder, "Caddyfile"), `${options}${site}`);
  return ["run", "--config", path.join(folder, "Caddyfile")];
};

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const opened = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return opened;
}
