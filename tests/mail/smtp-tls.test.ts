import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { expect, onTestFinished, test } from "vitest";
import { createSmtpMailer } from "@/lib/platform/adapters/mailers";

const EMAIL = {
  to: "ann@example.com",
  subject: "Reset your password",
  text: "A link",
  html: "<p>A link",
  locale: "en" as const,
};

/** A server that offers no TLS, or whose offer was removed on the way. Returns its port and what it was sent. */
async function serverWithoutTls() {
  const recipients: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onRcptTo: ({ address }, _session, done) => {
      recipients.push(address);
      done();
    },
    onData: (stream, _session, done) => void stream.resume().on("end", () => done()),
  });
  server.listen(0);
  await once(server.server, "listening");
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (server.server.address() as AddressInfo).port, recipients };
}

const send = (url: string) => createSmtpMailer(url, "no-reply@example.com").send(EMAIL, "id");

// ASVS 12.3.1
test("over the network no email is sent without TLS, unless the URL says so", async () => {
  const { port, recipients } = await serverWithoutTls();
  await expect(send(`smtp://0.0.0.0:${port}`)).rejects.toThrow(/TLS/);
  expect(recipients).toEqual([]);
  await send(`smtp://0.0.0.0:${port}?requireTLS=false`);
  expect(recipients).toEqual(["ann@example.com"]);
});

test("a mail server on the same machine needs no TLS", async () => {
  const { port, recipients } = await serverWithoutTls();
  await send(`smtp://127.0.0.1:${port}`);
  expect(recipients).toEqual(["ann@example.com"]);
});
