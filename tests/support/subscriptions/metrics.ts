import { onTestFinished } from "vitest";
import { freePort } from "@/dev/free-port";
import { openMetrics } from "@/lib/platform/telemetry/metrics";
import { ctx } from "@/tests/support/context";

/** Opens the metrics until the end of the test, and reads `homeport_billing_...`. */
export async function openBillingMetrics() {
  const port = await freePort();
  const { count, close } = await openMetrics(ctx(), { port, host: "127.0.0.1" });
  onTestFinished(close);
  const metric = async (name: string) => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(new RegExp(`^homeport_billing_${name} (.*)$`, "m").exec(text)?.[1]);
  };
  return { count, metric };
}
