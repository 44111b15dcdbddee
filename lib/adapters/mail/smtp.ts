import { createTransport } from "nodemailer";
import type { Mailer } from "./mailer";
import { toMailMessage } from "./message";

const TIMEOUT_MS = 10_000;
const TIMEOUT_OPTIONS = ["dnsTimeout", "connectionTimeout", "greetingTimeout", "socketTimeout"];

/** Sends through the SMTP server at `url`. `timeoutMs` limits each step, unless the URL sets the step's own limit. */
export function createSmtpMailer(url: string, from: string, timeoutMs = TIMEOUT_MS): Mailer {
  const withTimeouts = new URL(url); // nodemailer reads its options from the query
  for (const name of TIMEOUT_OPTIONS) {
    if (!withTimeouts.searchParams.has(name)) withTimeouts.searchParams.set(name, String(timeoutMs));
  }
  const transport = createTransport(withTimeouts.href);
  return {
    mode: "smtp",
    send: async (email, id) => void (await transport.sendMail(toMailMessage(from, email, id))),
    close: async () => transport.close(),
  };
}
