import { randomUUID } from "node:crypto";
import { pushOperations } from "@/lib/push/admin/operations";
import type { listActiveDevices } from "@/lib/push/devices/devices";
import { Action } from "../../components/action";
import { formatCount } from "../../components/format-numbers";
import { type Column, Table } from "../../components/table";
import { Ago } from "../../components/time";
import { appName } from "./draft-fields";

type Props = Awaited<ReturnType<typeof listActiveDevices>> & {
  /** null: it is not written yet. */
  draft: { title: string; body: string; link?: string | undefined } | null;
  canSend: boolean;
};

/** The devices that the notification would go to, with a button for one of them and one for all. */
export function Recipients({ accountId, devices, draft, canSend }: Props) {
  const { title = "", body = "", link = "" } = draft ?? {};
  const values = () => ({ title, body, link, accountId, messageKey: randomUUID() });
  const isReady = canSend && draft !== null;
  const columns: Column<Props["devices"][number]>[] = [
    {
      head: "Device",
      isRowHead: true,
      cell: ({ name, model, appVersion, bundleId, environment }) => (
        <>
          {name ?? model ?? "Unnamed"}
          <p className="cell-detail">
            {[appName(bundleId), appVersion, environment === "sandbox" && "sandbox"].filter(Boolean).join(", ")}
          </p>
        </>
      ),
    },
    { head: "Last seen", isTight: true, cell: ({ lastSeenAt }) => <Ago at={lastSeenAt} /> },
    {
      head: "Actions",
      align: "end",
      cell: ({ id, name }) => (
        <Action
          operation={pushOperations.sendNotification}
          label="Send a test"
          name={`to ${name ?? id}`}
          title="Send it to this device only?"
          submit="Send the test"
          params={{ ...values(), deviceId: id }}
        >
          <p>The notification goes to this device, and to no other of the account.</p>
        </Action>
      ),
    },
  ];
  const count = `${formatCount(devices.length)} ${devices.length === 1 ? "device" : "devices"}`;
  return (
    <>
      <Table
        caption="Devices of the account"
        columns={isReady ? columns : columns.slice(0, -1)}
        rows={devices}
        empty="The account has no device that receives notifications"
      />
      {isReady && devices.length > 0 && (
        <div className="buttons">
          <Action
            operation={pushOperations.sendNotification}
            label={`Send to ${count}`}
            title={`Send to ${count}?`}
            submit="Send"
            params={values()}
          >
            <p>
              “<bdi>{title}</bdi>” goes to every device of the account. A notification that was sent cannot be recalled.
            </p>
          </Action>
        </div>
      )}
    </>
  );
}
