import type { Offer, PreviewRow, ReleasePreview } from "@/lib/releases/publishing/schema";
import { formatCount, formatShare } from "../../components/format-numbers";
import { EmptyState } from "../../components/states";
import { type Column, Table } from "../../components/table";
import { targetName } from "../version-state";

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

const COLUMNS: Column<PreviewRow>[] = [
  { head: "Runs", isRowHead: true, cell: ({ installed }) => installed ?? "New installation" },
  { head: "Platform", cell: (row) => `${targetName(row)}, ${row.channel}` },
  { head: "Clients", align: "end", cell: ({ clients }) => formatCount(clients) },
  { head: "Offered now", cell: (row) => <Offers offers={row.before} isInstalled={row.installed !== null} /> },
  {
    head: "Offered after the change",
    cell: (row) => <Offers offers={row.after} isInstalled={row.installed !== null} />,
  },
];

/** Who would get what, and how many clients that touches. */
export function Preview({ preview }: { preview: ReleasePreview }) {
  const { rows, changes } = preview;
  return (
    <>
      <p className="preview-sum">{describe(preview)}</p>
      <Table
        caption="Releases offered before and after the change"
        columns={COLUMNS}
        rows={rows}
        rowKey={({ platform, architecture, channel, installed }) =>
          [platform, architecture, channel, installed].join(" ")
        }
        empty={
          <EmptyState title="The change affects no client">
            {changes.length === 0 ? "The catalog is already in this state." : "Only the catalog changes."}
          </EmptyState>
        }
      />
    </>
  );
}

function describe({ countedOn, clients, changedClients, products }: ReleasePreview): string {
  if (countedOn === null) return "No client was counted yesterday or today, so there are no numbers.";
  const of = products.length > 0 ? ` of ${products.join(" and ")}` : "";
  const day = DAY.format(new Date(countedOn));
  return `${formatCount(changedClients)} of the ${formatCount(clients)} clients${of} that were counted on ${day} would be offered a different release.`;
}

function Offers({ offers, isInstalled }: { offers: readonly Offer[]; isInstalled: boolean }) {
  const nothing = isInstalled ? "no update" : "nothing";
  return (
    <ul className="offers">
      {offers.map(({ version, share, isMandatory, isOlder }) => (
        <li key={`${version} ${isMandatory}`}>
          {version ?? nothing}
          {isOlder && " (rollback)"}
          {isMandatory && " (mandatory)"}
          {share < 1 && <span className="muted"> to {formatShare(share)}</span>}
        </li>
      ))}
    </ul>
  );
}
