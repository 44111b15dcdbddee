import type { Statistics } from "@/lib/push/admin/schema";
import { Dash } from "../components/cells";
import { formatCount, formatShare } from "../components/format-numbers";
import { type Column, Table } from "../components/table";
import { DeliveryState } from "./status";

type Outcome = Statistics["outcomes"][number];

/** How many deliveries ended how. Each figure links to the deliveries that it counts. */
export function Outcomes({ outcomes, query = {} }: { outcomes: readonly Outcome[]; query?: Record<string, string> }) {
  const total = outcomes.reduce((sum, { count }) => sum + count, 0);
  const linkTo = ({ state, reason }: Outcome) => {
    const isNamed = reason !== null && (state === "failed" || state === "cancelled");
    return `/console/push/deliveries?${new URLSearchParams({ ...query, state, ...(isNamed ? { reason } : {}) })}`;
  };
  const columns: Column<Outcome>[] = [
    { head: "State", isRowHead: true, cell: ({ state }) => <DeliveryState state={state} /> },
    { head: "Reason", cell: ({ reason }) => reason ?? <Dash /> },
    { head: "Deliveries", align: "end", cell: (outcome) => <a href={linkTo(outcome)}>{formatCount(outcome.count)}</a> },
    { head: "Share", align: "end", cell: ({ count }) => formatShare(count / total) },
  ];
  return (
    <Table
      caption="Deliveries by state and reason"
      columns={columns}
      rows={outcomes}
      rowKey={({ state, reason }) => `${state} ${reason}`}
      empty="No notification was sent"
    />
  );
}
