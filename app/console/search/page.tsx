import { redirect } from "next/navigation";
import { SearchKind, SearchQuery, type SearchResult, type SearchResults } from "@/lib/search/schema";
import { search } from "@/lib/search/search";
import { Notice } from "../../(web)/components/notice";
import { PageHead } from "../components/headings";
import { EmptyState } from "../components/states";
import { type Column, List } from "../components/table";
import { consolePage } from "../frame/console-page";
import { hasRole } from "../frame/operator";

export const metadata = { title: "Search" };

const TITLES: Record<SearchResult["kind"], string> = {
  account: "Accounts",
  purchase: "Purchases",
  billing_event: "Billing events",
  release: "Releases",
  device: "Devices",
  message: "Messages",
  webhook_event: "Webhook events",
  api_key: "API keys",
};

const COLUMNS: Column<SearchResult>[] = [
  {
    head: "Result",
    isRowHead: true,
    cell: ({ path, title }) => (
      <a className="found" href={path}>
        <bdi>{title}</bdi>
      </a>
    ),
  },
  { head: "Details", cell: ({ detail }) => <bdi className="found">{detail}</bdi> },
];

export default consolePage({ query: SearchQuery.partial() }, async ({ ctx, operator, query: { query = "" } }) => {
  const { results, order } = await search(ctx, hasRole(operator, "admin") ? "admin" : "support", query);
  const [exact, ...others] = new Set(results.flatMap(({ isExact, path }) => (isExact ? path : [])));
  if (exact !== undefined && others.length === 0) redirect(exact);
  return (
    <>
      <PageHead title="Search" />
      {SearchKind.options.map((kind) => (
        <Results key={kind} kind={kind} query={query} results={results.filter((one) => one.kind === kind)} />
      ))}
      {order && results.length === 0 && (
        <Notice kind={order.problem === null ? "info" : "error"}>{describeOrder(order)}</Notice>
      )}
      {results.length === 0 && (
        <EmptyState title={query === "" ? "Search for anything that has a name or an ID" : "Nothing was found"}>
          By how an email, a name, a device’s token or an API key begins; or by a whole ID of an account, a purchase, an
          order, a transaction, an event, a message or a device; or by a version.
        </EmptyState>
      )}
    </>
  );
});

function describeOrder({ provider, transactions, problem }: NonNullable<SearchResults["order"]>): string {
  if (problem !== null) return `${provider} could not be asked about this order. ${problem}`;
  if (transactions.length === 0) return `${provider} does not know this order.`;
  return `${provider} knows this order, of ${transactions.join(", ")}, but no event of it was received.`;
}

type Props = { kind: SearchResult["kind"]; query: string; results: SearchResult[] };

function Results({ kind, query, results }: Props) {
  if (results.length === 0) return null;
  const title = TITLES[kind];
  return (
    <List
      title={title}
      actions={
        kind === "account" && <a href={`/console/accounts?${new URLSearchParams({ query })}`}>All accounts found</a>
      }
      caption={`${title} that were found`}
      columns={COLUMNS}
      rows={results}
      empty={null}
    />
  );
}
