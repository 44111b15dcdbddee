import { pushOperations } from "@/lib/push/admin/operations";
import type { PushPause } from "@/lib/push/admin/schema";
import { Action } from "../components/action";
import { countBounded } from "../components/format-numbers";
import { type Column, List } from "../components/table";
import { Ago } from "../components/time";

/** `waiting`: how many notifications wait for its end, at most 1,000. */
type Row = PushPause & { waiting: number };

const COLUMNS: Column<Row>[] = [
  { head: "Environment", isRowHead: true, cell: ({ environment }) => environment },
  { head: "Reason", cell: ({ reason }) => reason },
  { head: "Ends", isTight: true, cell: ({ until }) => <Ago at={until} /> },
  { head: "Actions", align: "end", cell: (pause) => <End pause={pause} /> },
];

/** The APNs environments to which nothing is sent for now. Nothing if there are none. */
export function Pauses({ pauses }: { pauses: readonly Row[] }) {
  if (pauses.length === 0) return null;
  return (
    <List
      title="Paused"
      lead="APNs refused the service. Notifications wait: correct the cause, then end the pause."
      caption="Paused APNs environments"
      columns={COLUMNS}
      rows={pauses}
      rowKey={({ environment }) => environment}
      empty={null}
    />
  );
}

function End({ pause: { environment, waiting } }: { pause: Row }) {
  return (
    <Action
      operation={pushOperations.endPushPause}
      label="End the pause"
      name={`of ${environment}`}
      title={`Send to ${environment} again?`}
      submit="End the pause"
      params={{ environment }}
    >
      <p>
        {countBounded(waiting, "notification", "notifications")} that waited {waiting === 1 ? "is" : "are"} sent at
        once. If APNs still refuses the service, it is paused again.
      </p>
    </Action>
  );
}
