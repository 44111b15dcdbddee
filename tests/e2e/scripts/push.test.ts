import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { runCommand } from "@/tests/support/process/command";
import { bearer, operatorKeyOf, registerAt, type Service, startService } from "@/tests/support/process/service";
import { startApns } from "@/tests/support/push/apns";

const EMAIL = "ann@example.com";
const UNKNOWN_ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11";

let apns: Awaited<ReturnType<typeof startApns>>;
let service: Service;

beforeAll(async () => {
  apns = await startApns(() => {});
  service = await startService({ ...apns.env, SMTP_URL: "smtp://127.0.0.1:9" }); // nobody takes emails there
});
afterAll(async () => {
  await service.end("SIGKILL");
  await apns.close();
});

test("an operator sends, announces, lists, cancels and retries notifications", async () => {
  const push = (...args: string[]) => runCommand("homeport", ["push", ...args], { DATA_DIR: service.dataDir });

  const text = ["--title", "A", "--body", "B"];
  const nobody = await push("send", "--account", "nobody@example.com", ...text);
  expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining("Account not found: nobody@example.com") });
  const device = await push("send", "--device", UNKNOWN_ID, ...text);
  expect(device).toMatchObject({ code: 0, stdout: "The device is not active.\n" });
  const audience = ["--platform", "ios", "--app-below", "2.0", "--seen-before", "90d", "--locale", "de"];
  const estimated = await push("send", ...audience, ...text, "--dry-run");
  expect(estimated).toMatchObject({ code: 0, stdout: "For 0 devices, within 0 s. Nothing was sent.\n" });
  const announced = await push("announce", "--version", "2.1.0");
  expect(announced).toMatchObject({ code: 0, stdout: "Queued for 0 devices. The last one is due in 0 s.\n" });
  expect(announced.stderr).toMatch(/^2\.1\.0 is not published: .* Announcing it notifies 0 devices\./);
  expect((await push("messages")).stdout).toMatch(/\tended\t2\.1\.0\tapp\.new_version\t/);
  const [message] = JSON.parse((await push("messages", "--json")).stdout) as { id: string }[];
  expect(message).toMatchObject({ kind: "app.new_version", title: "2.1.0", sent: 0 });
  expect(await push("cancel", message?.id ?? "")).toMatchObject({ code: 0 });
  const failed = { code: 0, stdout: "[]\n", stderr: "No notifications found.\n" };
  expect(await push("list", "--state", "failed", "--json")).toMatchObject(failed);
  const stdout = "Requeued 0 failed notifications and 0 paused notifications.\n";
  expect(await push("retry")).toMatchObject({ code: 0, stdout });
  expect(await push("pauses")).toMatchObject({ code: 0, stderr: "Nothing is paused.\n" });
});

test("an operator lists, retries and removes emails", async () => {
  const mail = (...args: string[]) => runCommand("homeport", ["mail", ...args], { DATA_DIR: service.dataDir });
  await queueEmail();
  const { id } = await emailAfter(1);
  expect(await mail("retry", id)).toMatchObject({ code: 0, stdout: "Sending 1 email now.\n" });
  await emailAfter(2);
  const { stdout } = await mail("list", "--to", EMAIL, "--state", "retrying", "--json");
  expect(JSON.parse(stdout)).toMatchObject([{ id, to: EMAIL }]);
  expect(await mail("remove", id)).toMatchObject({ code: 0, stdout: `${id} is removed.\n` });
  expect(await mail("list")).toMatchObject({ code: 0, stdout: "", stderr: "No emails are waiting.\n" });
});

/** Makes the service send one email, which stays in the queue. */
async function queueEmail(): Promise<void> {
  await registerAt(service, { email: EMAIL });
  expect((await service.post("/api/auth/reset/request", { email: EMAIL })).status).toBe(202);
}

/** Waits until so many attempts to send the email have failed. */
async function emailAfter(attempts: number): Promise<{ id: string }> {
  const headers = bearer(await operatorKeyOf(service));
  const find = async () => {
    const response = await service.fetch("/api/admin/mail/messages?state=retrying", { headers });
    const { messages } = (await response.json()) as { messages: { id: string; attempts: number }[] };
    const found = messages.find((email) => email.attempts === attempts);
    return found ?? Promise.reject(new Error(`No email has failed ${attempts} times`));
  };
  return vi.waitFor(find, { timeout: 60_000, interval: 50 });
}
