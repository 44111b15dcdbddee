import { Violation } from "../model/fact";
import { Endpoint } from "../model/webhooks";
import type { Operation, Step } from "./operation";
import { change } from "./operators";

const PATH = "/api/admin/webhooks";
const RECEIVER = "https://hooks.example.com/all";
const DAY_MS = 86_400_000;

/** An operator creates the endpoint before anything happens. */
export async function setUpEndpoint(step: Step, eventTypes: string[]): Promise<void> {
  step.model.willAudit("webhook_created");
  const { body } = await step.send("create an endpoint", "POST", PATH, {
    operator: "sim",
    json: { url: RECEIVER, eventTypes },
  });
  step.model.endpoint = new Endpoint(body.id);
  step.model.endpoint.secrets.push({ text: body.secret, fromMs: 0 });
}

const subjectOf = ({ id }: Endpoint) => `target=webhook:${id}` as const;

async function turn(step: Step, endpoint: Endpoint, enabled: boolean): Promise<void> {
  endpoint.isEnabled.maySet(enabled);
  endpoint.disabledFromMs = Number.POSITIVE_INFINITY;
  const request = ["PATCH", `${PATH}/${endpoint.id}`, { json: { enabled } }] as const;
  const label = `turn the endpoint ${enabled ? "on" : "off"}`;
  const { outcome } = await change(step, ["webhook_changed", subjectOf(endpoint)], label, [...request], () => true);
  if (outcome === "refused") throw new Violation("endpoint is lost", endpoint.id);
  if (outcome !== "done") return;
  endpoint.isEnabled.set(enabled);
  if (!enabled) endpoint.disabledFromMs = step.nowMs;
}

/** What has happened while it was turned off is delivered. */
async function replay(step: Step, endpoint: Endpoint): Promise<void> {
  const json = { since: new Date(step.nowMs - 29 * DAY_MS) };
  const request = ["POST", `${PATH}/${endpoint.id}/replay`, { json }] as const;
  const { outcome } = await change(step, ["webhook_replayed", subjectOf(endpoint)], "replay", [...request], () => true);
  if (outcome === "refused" && endpoint.isEnabled.is(true)) throw new Violation("endpoint is lost", endpoint.id);
  if (outcome === "done") endpoint.isEnabled.rule(true, true);
}

async function rotate(step: Step, endpoint: Endpoint): Promise<void> {
  endpoint.mayRotate(step.nowMs);
  const request = ["POST", `${PATH}/${endpoint.id}/secret`, { json: {} }] as const;
  const type = "webhook_secret_rotated";
  const { outcome, body } = await change(
    step,
    [type, subjectOf(endpoint)],
    "rotate the secret",
    [...request],
    () => true,
  );
  if (outcome === "done") endpoint.secrets.push({ text: body.secret, fromMs: step.nowMs });
}

const onEndpoint = (
  name: string,
  weight: number,
  run: (step: Step, endpoint: Endpoint) => Promise<void>,
): Operation => ({
  name,
  weight,
  start: (step) => {
    const { endpoint } = step.model;
    if (!endpoint || endpoint.isBusy) return null;
    endpoint.isBusy = true;
    return run(step, endpoint).finally(() => {
      endpoint.isBusy = false;
    });
  },
});

/** Once faults have ceased, all that was left out arrives. */
export async function deliverAll(step: Step): Promise<void> {
  const { endpoint } = step.model;
  if (!endpoint) return;
  await turn(step, endpoint, true);
  await replay(step, endpoint);
}

export const webhookOperations: Operation[] = [
  onEndpoint("turn the endpoint off or on", 0.3, (step, endpoint) =>
    turn(step, endpoint, !endpoint.isEnabled.canBe(true) || step.random.chance(0.3)),
  ),
  onEndpoint("replay webhooks", 0.2, replay),
  onEndpoint("rotate the endpoint's secret", 0.2, rotate),
];
