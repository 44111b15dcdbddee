import { pino } from "pino";
import { onTestFinished } from "vitest";
import { newCertificate, newSigningKey } from "@/dev/apns/credentials";
import { type Push, type Reply, startFakeApns } from "@/dev/apns/fake-server";
import { createApnsTransport } from "@/lib/platform/adapters/apns";
import { BUNDLE_ID } from "./push";

const KEY_ID = "ABC123DEFG";
const TEAM_ID = "TEAM123456";
const OK: Reply = { status: 200 };
const SILENT = pino({ level: "silent" });

let certificate: ReturnType<typeof newCertificate> | undefined;

export type Apns = Awaited<ReturnType<typeof startApns>>;

/**
 * Starts a fake APNs server for a test, or until the end that `onEnd` names. It accepts every valid push, unless
 * `replyWith` queues other replies for a token or for any token ("*"); each reply is used once.
 */
export async function startApns(onEnd: (close: () => Promise<void>) => void = onTestFinished) {
  certificate ??= newCertificate();
  const { privateKey, publicKey } = newSigningKey();
  const received: Push[] = [];
  const rejected: string[] = [];
  const replies = new Map<string, (Reply | Promise<Reply>)[]>();
  const server = await startFakeApns({
    publicKey,
    keyId: KEY_ID,
    teamId: TEAM_ID,
    bundleIds: [BUNDLE_ID],
    tls: certificate,
    reply: (push) => {
      received.push(push);
      return replies.get(push.token)?.shift() ?? replies.get("*")?.shift() ?? OK;
    },
    onRejected: (reason) => rejected.push(reason),
  });
  onEnd(server.close);
  const credentials = { key: privateKey, keyId: KEY_ID, teamId: TEAM_ID, ca: certificate.cert };
  return {
    ...server,
    received,
    /** The reasons for which it rejected requests. */
    rejected,
    replyWith: (token: string | "*", ...queued: (Reply | Promise<Reply>)[]) => void replies.set(token, queued),
    /** The service's transport to it. */
    transport: (changed: Partial<Parameters<typeof createApnsTransport>[0]> = {}, log = SILENT) => {
      const options = { ...credentials, host: "127.0.0.1", port: server.port, ...changed };
      const transport = createApnsTransport(options, log);
      onTestFinished(transport.close);
      return transport;
    },
    /** The variables that connect a service to it. */
    env: {
      APNS_KEY: privateKey,
      APNS_KEY_ID: KEY_ID,
      APNS_TEAM_ID: TEAM_ID,
      APNS_HOST: "127.0.0.1",
      APNS_PORT: String(server.port),
      APNS_CA: certificate.cert,
      APNS_BUNDLE_IDS: BUNDLE_ID,
    },
  };
}
