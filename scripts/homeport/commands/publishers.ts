import { NewPublisher } from "../../../lib/auth/publishers/schema";
import { isUuid } from "../../../lib/platform/db/ids";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup } from "../command";
import { checked, repeatable } from "../options";

type AddOptions = Partial<
  Record<"workflow" | "environment" | "ref" | "issuer" | "product" | "channel", string> & { claim: string[] }
>;

const OPTION_OF = {
  type: "TYPE",
  repository: "REPOSITORY",
  workflow: "--workflow",
  environment: "--environment",
  ref: "--ref",
  issuer: "--issuer",
  claims: "--claim",
  product: "--product",
  channel: "--channel",
};

/** `homeport publishers`: the CI workflows that publish without an API key. */
export const definePublishers: DefineCommandGroup = (publishers) => {
  publishers
    .command("add <type> [repository]")
    .description("trust a workflow: github OWNER/REPO, gitlab GROUP/PROJECT, or oidc")
    .option("--product <product>", "the product that it publishes")
    .option("--channel <channel>", "the only channel that it publishes on (default: every channel)")
    .option("--workflow <file>", "its file, such as release.yml (gitlab: .gitlab-ci.yml by default)")
    .option("--environment <name>", "the environment of its job (default: any)")
    .option("--ref <pattern>", "the Git refs that publish, such as 'refs/tags/v*' (default: every branch and tag)")
    .option("--issuer <url>", "the issuer of its ID tokens (default: that of github.com or gitlab.com)")
    .addOption(repeatable("--claim <name=value>", "oidc: a claim that its ID tokens must have; may be repeated"))
    .run(add);
  publishers.command("list").description("list the publishers, newest first").run(list);
  publishers
    .command("show <id>")
    .description("print a publisher as JSON, with the ids that its first ID token had")
    .run(async ({ api, output }: CommandContext, id: string) => {
      const publisher = await api.call("getPublisher", { params: { publisherId: publisherId(id) } });
      output.result(publisher, [JSON.stringify(publisher, null, 2)]);
    });
  publishers.command("remove <id...>").description("distrust publishers, effective immediately").run(remove);
};

async function add(
  { api, output }: CommandContext,
  type: string,
  repository: string | undefined,
  { claim, ...options }: AddOptions,
): Promise<void> {
  const claims = claim && Object.fromEntries(claim.map(parseClaim));
  const { json: _, ...fields } = { type, repository, claims, ...options } as Record<string, unknown>;
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const added = await api.call("addPublisher", { body: checked(NewPublisher, given, OPTION_OF) });
  const { id, name, product, channel, ref } = added;
  const where = channel === null ? "every channel" : `the channel ${channel}`;
  const from = ref === null ? "from every branch and tag" : `from ${ref}`;
  output.result(added, [`${id}: ${name} may publish ${product} on ${where}, ${from}.`]);
}

function parseClaim(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError("--claim: Must be NAME=VALUE");
  return [text.slice(0, at), text.slice(at + 1)];
}

async function list({ api, output }: CommandContext): Promise<void> {
  const publishers = await api.list("listPublishers", "publishers");
  output.table(publishers, "No publishers found.", {
    id: "id",
    type: "type",
    name: "name",
    workflow: "workflow",
    environment: "environment",
    ref: "ref",
    product: "product",
    channel: "channel",
    "last used": "lastUsedAt",
  });
}

async function remove({ api, output }: CommandContext, ids: string[]): Promise<void> {
  for (const id of ids.map(publisherId)) await api.call("removePublisher", { params: { publisherId: id } });
  const lines = ids.map((id) => `${id} is removed.`);
  output.result({ removed: ids }, lines);
}

function publisherId(id: string): string {
  if (!isUuid(id)) throw new UsageError("ID: Must be the id of a publisher, as `list` prints it.");
  return id;
}
