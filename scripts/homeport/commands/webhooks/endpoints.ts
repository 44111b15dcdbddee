import { isUuid } from "../../../../lib/platform/db/ids";
import { ChangedEndpoint, type Endpoint, type EndpointWithSecret, NewEndpoint } from "../../../../lib/webhooks/schema";
import { CodedError, UsageError } from "../../../command-line";
import type { CommandContext } from "../../command";
import { parseWith } from "../../options";
import { confirm, isInteractive } from "../../output/confirm";
import type { Json } from "../../transport/admin-api";

const WEBHOOKS = "/api/admin/webhooks";
const OPTION_OF = { url: "URL", eventTypes: "--type", description: "--description" };

type Fields = { type?: string[]; description?: string };

/** The path of an endpoint. @throws UsageError */
export function endpointPath(id: string): string {
  if (!isUuid(id)) throw new UsageError("ENDPOINT: Must be the id of an endpoint, as `list` prints it.");
  return `${WEBHOOKS}/${id}`;
}

export async function list({ api, output }: CommandContext): Promise<void> {
  const { endpoints } = await api.get<{ endpoints: Json<Endpoint>[] }>(WEBHOOKS);
  if (endpoints.length === 0) output.note("No endpoints found.");
  output.table(endpoints, {
    id: ({ id }) => id,
    status: ({ status }) => status,
    "failing since": ({ failingSince }) => failingSince,
    types: ({ eventTypes }) => eventTypes.join(","),
    url: ({ url }) => url,
    description: ({ description }) => description,
  });
}

export async function create(
  { api, output }: CommandContext,
  url: string,
  { type = [], description }: Fields,
): Promise<void> {
  const input = { url, eventTypes: type, description };
  parseWith(NewEndpoint, input, OPTION_OF);
  printSecret(output, "Created", await api.request<Json<EndpointWithSecret>>("POST", WEBHOOKS, input));
}

export async function rotateSecret({ api, output }: CommandContext, id: string): Promise<void> {
  const path = endpointPath(id);
  printSecret(output, "Rotated the secret of", await api.request<Json<EndpointWithSecret>>("POST", `${path}/secret`));
}

function printSecret(output: CommandContext["output"], verb: string, endpoint: Json<EndpointWithSecret>): void {
  output.result(endpoint, [endpoint.secret]);
  if (!output.isJson) output.note(`${verb} ${endpoint.id}. Store the secret now: it is not shown again.`);
}

export async function edit(context: CommandContext, id: string, { url, type, description }: Fields & { url?: string }) {
  const path = endpointPath(id);
  const input = { url, eventTypes: type, description };
  if (Object.values(input).every((value) => value === undefined)) {
    throw new UsageError("edit takes --url, --type or --description.");
  }
  parseWith(ChangedEndpoint, input, { ...OPTION_OF, url: "--url" });
  await change(context, path, input, `${id} is changed.`);
}

export async function enable(context: CommandContext, id: string): Promise<void> {
  await change(context, endpointPath(id), { enabled: true }, `${id} is enabled.`);
}

export async function disable(context: CommandContext, id: string): Promise<void> {
  await change(context, endpointPath(id), { enabled: false }, `${id} is disabled.`);
}

async function change({ api, output }: CommandContext, path: string, body: object, text: string): Promise<void> {
  output.result(await api.request<Json<Endpoint>>("PATCH", path, body), [text]);
}

export async function remove(
  { api, output }: CommandContext,
  id: string,
  { yes = false }: { yes?: boolean },
): Promise<void> {
  const path = endpointPath(id);
  if (!yes && !isInteractive()) throw new UsageError("delete: --yes is missing.");
  const { url } = await api.get<Json<Endpoint>>(path);
  if (!yes && !(await confirm(`Delete the endpoint ${url} and its deliveries?`)))
    throw new CodedError("canceled", "Nothing was changed.");
  await api.request("DELETE", path);
  output.result({ deleted: id }, [`${id} is deleted.`]);
}
