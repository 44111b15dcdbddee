import type { ProviderState } from "@/lib/subscriptions/admin/reconcile";
import { formatCount } from "../components/format-numbers";
import { type Column, List } from "../components/table";
import { ExactTime } from "../components/time";

const COLUMNS: Column<ProviderState>[] = [
  { head: "Provider", isRowHead: true, cell: ({ name }) => name },
  { head: "Requests", cell: Requests },
  { head: "Waiting", align: "end", cell: ({ jobs }) => formatCount(jobs) },
  { head: "Events last read", cell: ({ sweep }) => (sweep ? <ExactTime at={sweep.finishedAt} /> : "–") },
  { head: "Had not arrived", align: "end", cell: ({ sweep }) => (sweep ? formatCount(sweep.found) : "–") },
  { head: "Failure", cell: ({ sweep }) => sweep?.failure ?? "–" },
];

function Requests({ pausedUntil }: ProviderState) {
  if (!pausedUntil) return "sent";
  return (
    <>
      paused until <ExactTime at={pausedUntil} />
    </>
  );
}

/** The providers whose purchases are reconciled. */
export function Providers({ providers }: { providers: readonly ProviderState[] }) {
  if (providers.length === 0) return null;
  return (
    <List
      title="Providers"
      lead="Purchases are compared with these providers’ APIs, and events that did not arrive are read from them."
      caption="Providers with an API key"
      columns={COLUMNS}
      rows={providers}
      rowKey={({ provider }) => provider}
      empty={null}
    />
  );
}
