import type { AccountDetails } from "@/lib/accounts/admin/schema";
import { Badge, Dash, type Tone } from "../../components/cells";
import { type Column, List } from "../../components/table";
import { Ago } from "../../components/time";

type Device = AccountDetails["devices"][number];

const TONES: Record<Device["status"], Tone> = { active: "good", pending: "warning", invalid: "bad" };

const COLUMNS: Column<Device>[] = [
  { head: "Device", isRowHead: true, cell: ({ name, model }) => name ?? model ?? "Unnamed device" },
  { head: "Model", cell: ({ model }) => model ?? <Dash /> },
  {
    head: "Status",
    cell: ({ status, invalidReason }) => (
      <>
        <Badge tone={TONES[status]}>{status}</Badge> {invalidReason}
      </>
    ),
  },
  {
    head: "App",
    cell: ({ bundleId, appVersion, osVersion, environment }) =>
      [bundleId, appVersion, osVersion && `iOS ${osVersion}`, environment === "sandbox" && "sandbox"]
        .filter(Boolean)
        .join(", "),
  },
  { head: "Last delivery", isTight: true, cell: ({ lastDeliveredAt }) => <Ago at={lastDeliveredAt} /> },
  { head: "Last seen", isTight: true, cell: ({ lastSeenAt }) => <Ago at={lastSeenAt} /> },
];

/** The devices that get notifications. */
export function Devices({ devices }: { devices: Device[] }) {
  return (
    <List
      title="Devices"
      caption="Devices, the newest first"
      columns={COLUMNS}
      rows={devices}
      empty="No device is registered for notifications"
    />
  );
}
