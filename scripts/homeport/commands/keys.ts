import { Scope } from "@/lib/principal";
import { NewKey } from "../../../lib/auth/api-keys/schema";
import { isUuid } from "../../../lib/platform/db/ids";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup } from "../command";
import { checked, parseTime, repeatable } from "../options";

type CreateOptions = { scope?: string[]; product?: string[]; network?: string[]; expires?: string };

/** `homeport keys`: the model of a command group. See CONTRIBUTING.md, "Add a command". */
export const defineKeys: DefineCommandGroup = (keys) => {
  keys
    .command("create <name>")
    .description("create an API key and print it once")
    .addOption(repeatable("--scope <scope>", "what it may do; may be repeated", Scope.options))
    .addOption(repeatable("--product <name>", "a product whose releases it is for (default: all); may be repeated"))
    .option("--expires <when>", "12h, 90d or a time such as 2027-01-31T00:00:00Z (default: never)")
    .addOption(repeatable("--network <cidr>", "a network that may use it, such as 203.0.113.0/24; may be repeated"))
    .run(create);
  keys.command("list").description("list the keys, newest first").run(list);
  keys.command("revoke <id...>").description("revoke keys, effective immediately").run(revoke);
};

async function create(
  { api, output }: CommandContext,
  name: string,
  { scope = [], product = [], network = [], expires }: CreateOptions,
): Promise<void> {
  const expiresAt = parseTime(expires, "from now");
  const input = { name, scopes: scope, products: product, networks: network, expiresAt };
  const optionOf = {
    scopes: "--scope",
    products: "--product",
    networks: "--network",
    expiresAt: "--expires",
    name: "NAME",
  };
  const created = await api.call("createApiKey", { body: checked(NewKey, input, optionOf) });
  output.result(created, [created.key]);
  if (!output.isJson) output.note(`Created ${created.id}. Store the key now: it is not shown again.`);
}

async function list({ api, output }: CommandContext): Promise<void> {
  const keys = await api.list("listApiKeys", "keys");
  output.table(keys, "No keys found.", {
    id: "id",
    key: ({ prefix }) => `${prefix}…`,
    status: "status",
    "last used": "lastUsedAt",
    scopes: ({ scopes }) => scopes.join(","),
    products: ({ products }) => products.join(",") || "all",
    name: "name",
  });
}

async function revoke({ api, output }: CommandContext, ids: string[]): Promise<void> {
  if (!ids.every(isUuid)) throw new UsageError("revoke takes the ids of keys, as `list` prints them.");
  for (const keyId of ids) await api.call("revokeApiKey", { params: { keyId } });
  const lines = ids.map((id) => `${id} is revoked.`);
  output.result({ revoked: ids }, lines);
}
