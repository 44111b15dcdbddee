import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { decodeQuotedPrintable } from "@/lib/adapters/mail/quoted-printable";

type Received = { to: string[]; raw: string };

const received: Received[] = [];
const arrived: (() => void)[] = [];

/** A real SMTP server that keeps what it is sent. */
export const mailbox = {
  /** Starts it on a free port. Returns its URL. */
  async start(): Promise<string> {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ["STARTTLS"],
      async onData(stream, session, done) {
        const chunks: Buffer[] = [];
        for await (const chunk of stream) chunks.push(chunk as Buffer);
        received.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString(),
        });
        done();
        for (const wake of arrived.splice(0)) wake();
      },
    });
    server.listen(0, "127.0.0.1");
    await once(server.server, "listening");
    server.server.unref();
    return `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  },

  /** All email to a recipient so far. */
  to: (email: string): string[] =>
    received.filter(({ to }) => to.includes(email)).map(({ raw }) => decodeQuotedPrintable(raw)),

  /** Waits for the n-th email to a recipient. */
  async waitFor(email: string, n = 1): Promise<string> {
    for (;;) {
      const mail = mailbox.to(email)[n - 1];
      if (mail !== undefined) return mail;
      await new Promise<void>((wake) => arrived.push(wake));
    }
  },
};
