import { publisherOperations } from "@/lib/auth/publishers/operations";
import { listPublishers } from "@/lib/auth/publishers/publishers";
import { Publisher } from "@/lib/auth/publishers/schema";
import { PageQuery } from "@/lib/platform/lists";
import { Dash } from "../../components/cells";
import { PageHead, Section } from "../../components/headings";
import { EmptyState } from "../../components/states";
import { type Column, List } from "../../components/table";
import { Tabs } from "../../components/tabs";
import { Ago } from "../../components/time";
import { consolePage } from "../../frame/console-page";
import { NewPublisherFields, TYPES } from "./publisher-fields";

export const metadata = { title: "Publishers" };

const PAGE = "/console/settings/publishers";

const COLUMNS: Column<Publisher>[] = [
  {
    head: "Publisher",
    isRowHead: true,
    cell: ({ id, name }) => (
      <a href={`${PAGE}/${id}`}>
        <bdi>{name}</bdi>
      </a>
    ),
  },
  { head: "Workflow", cell: ({ workflow }) => (workflow ? <bdi>{workflow}</bdi> : <Dash />) },
  { head: "Ref", cell: ({ ref }) => <bdi>{ref ?? "All"}</bdi> },
  { head: "Product", cell: ({ product }) => product },
  { head: "Channel", cell: ({ channel }) => channel ?? "All" },
  { head: "Last used", isTight: true, cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} /> },
];

export default consolePage(
  {
    role: "admin",
    query: PageQuery.extend({ type: Publisher.shape.type.default("github") }),
    done: { removed: "The publisher was removed. Its jobs get 401." },
    ownForms: [publisherOperations.addPublisher],
  },
  async ({ ctx, query: { type, ...page }, flash }) => {
    const { publishers, nextCursor } = await listPublishers(ctx, page);
    const tabs = Publisher.shape.type.options.map((one) => {
      return { href: `${PAGE}?type=${one}`, label: TYPES[one], isCurrent: one === type };
    });
    return (
      <>
        <PageHead
          title="Publishers"
          lead="CI workflows that publish the releases of one product without a stored key: a job proves who it is by its ID token."
        />
        <List
          title="Publishers"
          caption="Publishers, the newest first"
          columns={COLUMNS}
          rows={publishers}
          empty={<EmptyState title="There are no publishers yet">Add the first one below.</EmptyState>}
          nextCursor={nextCursor}
        />
        <Section title="Add a publisher">
          <Tabs label="CI service" tabs={tabs} />
          <NewPublisherFields type={type} flash={flash} />
        </Section>
      </>
    );
  },
);
