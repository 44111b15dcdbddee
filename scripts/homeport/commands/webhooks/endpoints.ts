import { isUuid } from "../../../../lib/platform/db/ids";
import { ChangedEndpoint, NewEndpoint } from "../../../../lib/webhooks/schema";
import { CodedError, UsageError } from "../../../command-line";
import type { CommandContext } from "../../command";
import { checked } from "../../options";
import { confirm, isInteractive } from "../../output/confirm";
import type { ResultOf } from "../../transport/operations";

const OPTION_OF = { url: "URL", eventTypes: "--type", description: "--description" };

type Fields = { type?: string[]; description?: string };

/** The parameter that names an endpoint. @throws UsageError */
export function endpoint(id: string): { endpointId: string } {
  if (!isUuid(id)) throw new UsageError("ENDPOINT: Must be the id of an endpoint, as `list` prints it.");
  return { endpointId: id };
}

export async function list({ api, output }: CommandContext): Promise<void> {
  const { endpoints } = await api.call("listWebhookEndpoints");
  output.table(endpoints, "No endpoints found.", {
    id: "id",
    status: "status",
    "failing since": "failingSince",
    types: ({ eventTypes }) => eventTypes.join(","),
    url: "url",
    description: "description",
  });
}

export async function create(
  { api, output }: CommandContext,
  url: string,
  { type = [], description }: Fields,
): Promise<void> {
  const body = checked(NewEndpoint, { url, eventTypes: type, description }, OPTION_OF);
  printSecret(output, "Created", await api.call("createWebhookEndpoint", { body }));
}

export async function rotateSecret({ api, output }: CommandContext, id: string): Promise<void> {
  printSecret(output, "Rotated the secret of", await api.call("rotateWebhookSecret", { params: endpoint(id) }));
}

function printSecret(output: CommandContext["output"], verb: string, created: ResultOf<"createWebhookEndpoint">): void {
  output.result(created, [created.secret]);
  if (!output.isJson) output.note(`${verb} ${created.id}. Store the secret now: it is not shown again.`);
}

/** The input of `edit`. @throws UsageError */
export function edited(id: string, { url, type, description }: Fields & { url?: string }) {
  const params = endpoint(id);
  const input = { url, eventTypes: type, description };
  if (Object.values(input).every((value) => value === undefined)) {
    throw new UsageError("edit takes --url, --type or --description.");
  }
  return { params, body: checked(ChangedEndpoint, input, { ...OPTION_OF, url: "--url" }) };
}

export async function remove(
  { api, output }: CommandContext,
  id: string,
  { yes = false }: { yes?: boolean },
): Promise<void> {
  const params = endpoint(id);
  if (!yes && !isInteractive()) throw new UsageError("delete: --yes is missing.");
  const { url } = await api.call("getWebhookEndpoint", { params });
  if (!yes && !(await confirm(`Delete the endpoint ${url} and its deliveries?`)))
    throw new CodedError("canceled", "Nothing was changed.");
  await api.call("deleteWebhookEndpoint", { params });
  output.result({ deleted: id }, [`${id} is deleted.`]);
}
