import { SearchQuery } from "../../../lib/search/schema";
import type { CommandContext, DefineCommandGroup } from "../command";
import { checked } from "../options";

export const defineSearch: DefineCommandGroup = (search) => {
  search.argument("<text>", "an id, an email, a name, a version, or the beginning of a token or a key").run(find);
};

async function find({ api, output }: CommandContext, text: string): Promise<void> {
  const query = checked(SearchQuery, { query: text }, { query: "TEXT" });
  const { results, order } = await api.call("search", { query });
  if (order?.problem) output.note(`${order.provider} could not be asked. ${order.problem}`);
  output.table(results, "Nothing was found.", { kind: "kind", id: "id", title: "title", details: "detail" });
}
