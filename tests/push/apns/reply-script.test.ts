import { expect, test } from "vitest";
import { createReplyScript, REPLY_HELP } from "@/dev/apns/reply-script";

/** What the next pushes are answered after these lines, and what was said of the lines. */
function practise(...lines: string[]) {
  const script = createReplyScript();
  return { said: lines.map(script.add), next: script.next };
}

test.each([
  ["410", { status: 410, reason: "Unregistered", timestamp: expect.any(Number) }],
  ["429", { status: 429, reason: "TooManyRequests" }],
  ["503 retry-after=30", { status: 503, reason: "ServiceUnavailable", retryAfter: "30" }],
  ["400 reason=DeviceTokenNotForTopic", { status: 400, reason: "DeviceTokenNotForTopic" }],
  ["403 reason=ExpiredProviderToken", { status: 403, reason: "ExpiredProviderToken" }],
  [" goaway ", "goaway"],
  ["silence", "silence"],
  ["hangup", "hang up"],
])("%s is the reply to the next push and no other", (line, reply) => {
  const { next } = practise(line);
  expect(next()).toEqual(typeof reply === "string" ? reply : expect.objectContaining(reply));
  expect(next()).toEqual({ status: 200 });
});

test('replies are used in order, each as often as its count, until "ok" discards the rest', () => {
  const { next } = practise("503 2", "goaway");
  expect([next(), next(), next(), next()]).toMatchObject([{ status: 503 }, { status: 503 }, "goaway", { status: 200 }]);
  expect(practise("503 2", "OK").next()).toEqual({ status: 200 });
});

test.each(["", "200", "503 0", "503 x", "503 1 2", "503 retry=30", "goaway reason=Shutdown"])(
  "%o changes nothing and prints the help",
  (line) => {
    const { next, said } = practise(line);
    expect({ reply: next(), said }).toEqual({ reply: { status: 200 }, said: [REPLY_HELP] });
  },
);
