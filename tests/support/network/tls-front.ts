import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";

export type TlsFront = {
  /** Where browsers find it. */
  origin: string;
  /** Names the service behind it. */
  forwardTo: (url: string) => void;
  close: () => void;
};

/** A proxy that ends TLS before a service, as in production, and serves `pages` of its own on the same origin. */
export async function startTlsFront(
  port: number,
  pages: Record<string, { type: string; body: string }>,
): Promise<TlsFront> {
  let target = "";
  const server = createServer(selfSigned(), (incoming, outgoing) => {
    const page = pages[incoming.url ?? ""];
    if (page) return void outgoing.writeHead(200, { "content-type": page.type }).end(page.body);
    if (!target) return void outgoing.writeHead(404).end();
    const { url = "/", method, headers, socket } = incoming;
    const forwarded = { ...headers, "x-forwarded-for": socket.remoteAddress };
    const sent = request(`${target}${url}`, { method, headers: forwarded }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    sent.on("error", () => outgoing.destroy());
    incoming.pipe(sent);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `https://localhost:${port}`,
    forwardTo: (url) => {
      target = url;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A key and a certificate for localhost, made for one run. */
export function selfSigned(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(path.join(tmpdir(), "tls-"));
  const [key, cert] = [path.join(folder, "key.pem"), path.join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "1"];
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-keyout",
      key,
      "-out",
      cert,
      ...subject,
    ],
    { stdio: "ignore" },
  );
  return { key: readFileSync(key), cert: readFileSync(cert) };
}
