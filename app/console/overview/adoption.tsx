import type { NewestVersion } from "@/lib/overview/read-newest-versions";
import { formatShare } from "../components/format-numbers";
import { type Column, List } from "../components/table";

const shareOf = (share: number | null) => (share === null ? "–" : formatShare(share));

const COLUMNS: Column<NewestVersion>[] = [
  {
    head: "Product",
    isRowHead: true,
    cell: ({ product }) => <a href={`/console/releases?${new URLSearchParams({ product })}`}>{product}</a>,
  },
  { head: "Newest version", cell: ({ version }) => version },
  { head: "Run it today", align: "end", cell: ({ share }) => shareOf(share) },
  { head: "A week ago", align: "end", cell: ({ shareWeekAgo }) => shareOf(shareWeekAgo) },
];

/** How far the newest versions have spread. */
export function Adoption({ versions }: { versions: NewestVersion[] }) {
  return (
    <List
      title="Adoption of the newest version"
      lead="The share of a product’s update checks that come from it."
      caption="The newest version of each product on the stable channel"
      columns={COLUMNS}
      rows={versions}
      rowKey={({ product }) => product}
      empty="No release is published on the stable channel"
    />
  );
}
