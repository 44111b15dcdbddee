import { accountOperations } from "@/lib/accounts/admin/operations";
import type { AccountDetails } from "@/lib/accounts/admin/schema";
import { clientName } from "@/lib/auth/sessions/client-name";
import { Badge, Dash, type Tone } from "../../components/cells";
import { type Column, List } from "../../components/table";
import { Ago } from "../../components/time";
import { AccountAction, capitalized, countOf, endsSessions } from "./account-action";

type Session = AccountDetails["sessions"][number];

/** Where the owner is signed in. */
export function Sessions({ account }: { account: AccountDetails }) {
  return (
    <List
      title="Sessions"
      actions={account.sessions.length > 0 && <EndAll account={account} />}
      caption="Live sessions, the newest first"
      columns={columnsFor(account)}
      rows={account.sessions}
      empty="The owner is not signed in anywhere"
    />
  );
}

const columnsFor = (account: AccountDetails): Column<Session>[] => [
  {
    head: "Client",
    isRowHead: true,
    cell: ({ deviceName, userAgent }) => (
      <>
        {clientName(deviceName, userAgent)}
        {userAgent && <p className="cell-detail">{userAgent}</p>}
      </>
    ),
  },
  { head: "Kind", cell: ({ transport }) => (transport === "cookie" ? "Browser" : "App") },
  { head: "Authenticated by", cell: ({ amr, aal }) => `${amr.join(", ") || "–"} (AAL${aal})` },
  { head: "Signed in", isTight: true, cell: ({ createdAt }) => <Ago at={createdAt} /> },
  { head: "Last seen", isTight: true, cell: ({ lastSeenAt }) => <Ago at={lastSeenAt} /> },
  { head: "Actions", align: "end", cell: (session) => <EndOne account={account} session={session} /> },
];

function EndAll({ account }: { account: AccountDetails }) {
  return (
    <AccountAction
      operation={accountOperations.endAccountSessions}
      account={account}
      label="End all sessions"
      title="End all sessions?"
      submit={`End ${countOf(account.sessions.length, "session")}`}
      isDanger
    >
      <p>{capitalized(endsSessions(account))} The owner can sign in again.</p>
    </AccountAction>
  );
}

function EndOne({ account, session }: { account: AccountDetails; session: Session }) {
  const client = clientName(session.deviceName, session.userAgent);
  return (
    <AccountAction
      operation={accountOperations.endAccountSession}
      account={account}
      label="End"
      name={`the session of ${client}`}
      title="End this session?"
      submit="End the session"
      params={{ sessionId: session.id }}
      isDanger
    >
      <p>Signs {client} out, and removes the devices that this session registered. The owner can sign in again.</p>
    </AccountAction>
  );
}

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
  { head: "Attested keys", cell: ({ receipt }) => receipt?.riskMetric ?? <Dash /> },
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
