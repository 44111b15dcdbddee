import type { Mailer } from "./mailer";
import { toMailMessage } from "./message";

const TIMEOUT_MS = 10_000;
const TIMEOUT_OPTIONS = ["dnsTimeout", "connectionTimeout", "greetingTimeout", "socketTimeout"];

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Sends through the SMTP server at `url`. `timeoutMs` limits each step, unless the URL sets the step's own limit. */
export function createSmtpMailer(url: string, from: string, timeoutMs = TIMEOUT_MS): Mailer {
  const withTimeouts = new URL(url); // nodemailer reads its options from the query
  for (const name of TIMEOUT_OPTIONS) {
    if (!withTimeouts.searchParams.has(name)) withTimeouts.searchParams.set(name, String(timeoutMs));
  }
  // nodemailer would send in clear if the server, or somebody on the way, offers no TLS. Emails contain links that sign in.
  const isOnNetwork = withTimeouts.protocol === "smtp:" && !LOOPBACK.test(withTimeouts.hostname);
  if (isOnNetwork && !withTimeouts.searchParams.has("requireTLS")) withTimeouts.searchParams.set("requireTLS", "true");
  // Loaded with the first email.
  const connect = async () => (await import("nodemailer")).createTransport(withTimeouts.href);
  let transport: ReturnType<typeof connect> | undefined;
  return {
    mode: "smtp",
    send: async (email, id) => {
      transport ??= connect();
      await (await transport).sendMail(toMailMessage(from, email, id));
    },
    close: async () => (await transport)?.close(),
  };
}
