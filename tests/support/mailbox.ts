import { SMTPServer } from "smtp-server";
import { decodeQuotedPrintable } from "@/lib/platform/adapters/mailers";
import { listen } from "@/tests/support/network/listen";

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
        try {
          for await (const chunk of stream) chunks.push(chunk as Buffer);
        } catch {
          return; // the service was killed while it sent
        }
        received.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString(),
        });
        done();
        for (const wake of arrived.splice(0)) wake();
      },
    });
    server.on("error", ignoreKilledClient);
    const address = await listen(server.server);
    server.server.unref();
    return `smtp://${address}`;
  },

  /** The emails about sign-ins from unknown clients, to a recipient so far. */
  signInsTo: (email: string): string[] => allTo(email).filter(isAboutSignIn),

  /** All other email to a recipient so far. Most tests sign in from unknown clients: each call has an IP of its own. */
  to: (email: string): string[] => allTo(email).filter((message) => !isAboutSignIn(message)),

  /** Waits for the n-th email to a recipient. */
  async waitFor(email: string, n = 1): Promise<string> {
    for (;;) {
      const mail = mailbox.to(email)[n - 1];
      if (mail !== undefined) return mail;
      await new Promise<void>((wake) => arrived.push(wake));
    }
  },
};

/** The service is killed while it sends, too: its connection is reset. */
const ignoreKilledClient = (error: NodeJS.ErrnoException) => {
  if (error.code !== "ECONNRESET" && error.code !== "EPIPE") throw error;
};

const allTo = (email: string) =>
  received.filter(({ to }) => to.includes(email)).map(({ raw }) => decodeQuotedPrintable(raw));
const isAboutSignIn = (message: string) => /^Subject: New sign-in to your account\r?$/m.test(message);
