import { pino } from "pino";
import { onTestFinished } from "vitest";
import { newCertificate, newSigningKey } from "@/dev/apns/credentials";
import { type Push, type Reply, startFakeApns } from "@/dev/apns/fake-server";
import { createApnsTransport } from "@/lib/adapters/apns";
import { BUNDLE_ID } from "./push";

const KEY_ID = "ABC123DEFG";
const TEAM_ID = "TEAM123456";
const OK: Reply = { status: 200 };
const SILENT = pino({ level: "silent" });

let certificate: ReturnType<typeof newCertificate> | undefined;

export type Apns = Awaited<ReturnType<typeof startApns>>;

/**
 * An APNs of the test's own. It takes everything that is right, unless `answer` says otherwise: the first push to a
 * token, or to any token, gets the first answer, the next the next; what comes after is taken.
 */
export async function startApns() {
  certificate ??= newCertificate();
  const { privateKey, publicKey } = newSigningKey();
  const received: Push[] = [];
  const refused: string[] = [];
  const answers = new Map<string, (Reply | Promise<Reply>)[]>();
  const standIn = await startFakeApns({
    ...{ publicKey, keyId: KEY_ID, teamId: TEAM_ID, bundleIds: [BUNDLE_ID], tls: certificate },
    reply: (push) => {
      received.push(push);
      return answers.get(push.token)?.shift() ?? answers.get("*")?.shift() ?? OK;
    },
    onRefused: (reason) => refused.push(reason),
  });
  onTestFinished(standIn.close);
  const credentials = { key: privateKey, keyId: KEY_ID, teamId: TEAM_ID, ca: certificate.cert };
  return {
    ...standIn,
    received,
    /** What a client did wrong, in APNs's words. */
    refused,
    answer: (token: string | "*", ...replies: (Reply | Promise<Reply>)[]) => void answers.set(token, replies),
    /** The product's transport to it. */
    transport: (changed: Partial<Parameters<typeof createApnsTransport>[0]> = {}, log = SILENT) => {
      const options = { ...credentials, host: "127.0.0.1", port: standIn.port, ...changed };
      const transport = createApnsTransport(options, log);
      onTestFinished(transport.close);
      return transport;
    },
    /** The variables that take a service there. */
    env: {
      APNS_KEY: privateKey,
      APNS_KEY_ID: KEY_ID,
      APNS_TEAM_ID: TEAM_ID,
      APNS_HOST: "127.0.0.1",
      APNS_PORT: String(standIn.port),
      APNS_CA: certificate.cert,
      APNS_BUNDLE_IDS: BUNDLE_ID,
    },
  };
}
