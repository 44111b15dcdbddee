import { pino } from "pino";
import { expect, test } from "vitest";
import { clientNetwork, withProxyWarning } from "@/lib/platform/http/client-ip";
import { get } from "@/tests/support/api";
import { ctx, withContext } from "@/tests/support/context";

const behind = (forwarded: string, hops: number) =>
  clientNetwork(new Headers({ "x-forwarded-for": forwarded }), "127.0.0.1", hops);

test.each([
  ["198.51.100.1", 1, "198.51.100.1"],
  ["forged, 198.51.100.1", 1, "198.51.100.1"],
  ["198.51.100.1, 10.0.0.1", 2, "198.51.100.1"],
  ["198.51.100.1:4711", 1, "198.51.100.1"],
  ["[2001:db8:0:1::5]:443", 1, "2001:db8:0:1::/64"],
  ["::ffff:198.51.100.1", 1, "198.51.100.1"],
  ["198.51.100.1", 2, "unknown"],
  ["nonsense", 1, "unknown"],
  ["", 1, "unknown"],
  // ASVS 4.1.3, 15.3.4
])("behind proxies, X-Forwarded-For: %s with %i hops means %s", (forwarded, hops, network) => {
  expect(behind(forwarded, hops)).toBe(network);
});

// ASVS 4.1.3, 15.3.4
test("without trusted proxies X-Forwarded-For is ignored", () => {
  expect(behind("198.51.100.1", 0)).toBe("127.0.0.1");
});

test("without trusted proxies, only the first request with X-Forwarded-For logs a warning", async () => {
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line) => void lines.push(line) });
  for (const hops of [1, 0]) {
    const config = { ...ctx().config, TRUSTED_PROXY_HOPS: hops };
    await withContext({ observe: withProxyWarning({ config, log }, ctx().observe) }, async () => {
      for (let i = 0; i < 3; i++) await get("/api/version", { headers: { "x-forwarded-for": "203.0.113.5" } });
    });
    expect(lines).toHaveLength(hops === 0 ? 1 : 0);
  }
  expect(lines[0]).toContain("TRUSTED_PROXY_HOPS");
});
