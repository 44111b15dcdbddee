import { describe, expect, test } from "vitest";
import { relativeTime } from "@/app/(web)/components/time";
import { translateError } from "@/app/(web)/language/german-errors";
import { flashOf, submit } from "@/tests/support/web/forms";

describe("an error in German", () => {
  test.each([
    ["The email or password is incorrect", "E-Mail-Adresse oder Passwort stimmen nicht"],
    ["The email or password is incorrect.", "E-Mail-Adresse oder Passwort stimmen nicht."],
    ["Must be at least 12 characters long", "Muss mindestens 12 Zeichen lang sein"],
    ["Too many requests. Try again in 12 minutes.", "Zu viele Versuche. Versuchen Sie es in 12 Minuten erneut."],
    ["Too many requests. Try again in a minute.", "Zu viele Versuche. Versuchen Sie es in einer Minute erneut."],
    ["constructor", "constructor"],
  ])("%s", (english, german) => {
    expect(translateError(english, "de")).toBe(german);
    expect(translateError(english, "en")).toBe(english);
  });

  test("exists for every error of the forms for customers", async () => {
    const forms: [form: string, fields: Record<string, string>][] = [
      ["sign-in", { email: "nobody@example.com", password: "wrong password" }],
      ["sign-in", { email: "no email", password: "x" }],
      ["register", { email: "a@example.com", password: "short" }],
      ["register", { email: "a@example.com", password: "password123" }],
      ["register", {}],
      ["reset", { token: "unknown", password: "a long enough password" }],
      ["verify", { token: "unknown", password: "a long enough password" }],
      ["not-me", { token: "unknown" }],
    ];
    for (const [form, fields] of forms) {
      const flash = flashOf(await submit(form, fields));
      const shown = [flash?.message ?? "", ...Object.values(flash?.fields ?? {})];
      for (const text of shown) expect([text, translateError(text, "de")]).not.toEqual([text, text]);
    }
  });
});

test.each([
  [-1_000, "now", "jetzt"],
  [-3 * 60_000, "3 minutes ago", "vor 3 Minuten"],
  [-25 * 3_600_000, "yesterday", "gestern"],
  [2 * 86_400_000, "in 2 days", "übermorgen"],
  [-8 * 86_400_000, null, null],
])("a time %i ms from now is %s", (ms, english, german) => {
  expect([relativeTime(ms, "en"), relativeTime(ms, "de")]).toEqual([english, german]);
});
