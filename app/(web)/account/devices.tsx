import type { Principal } from "@/lib/auth/authenticate";
import { listDevices } from "@/lib/push/devices";
import type { Device } from "@/lib/push/schema";
import { Form } from "../components/form";
import { Day, Moment } from "../components/time";

type Props = { ctx: Parameters<typeof listDevices>[0]; visitor: Principal };

/** The devices that receive notifications. */
export async function Devices({ ctx, visitor }: Props) {
  const devices = await listDevices(ctx, visitor);
  return (
    <section className="card" aria-labelledby="devices">
      <h2 id="devices">Devices</h2>
      {devices.length === 0 && <p>No device receives notifications yet. Sign in to the app on your phone to add it.</p>}
      <ul className="rows">
        {devices.map((device) => (
          <li key={device.id} className="row">
            <div className="details">
              <strong>{device.name ?? device.model ?? "Unnamed device"}</strong>{" "}
              <span className="tag">{STATUS_LABELS[device.status]}</span>
              <p>
                {[device.name && device.model, device.osVersion && `iOS ${device.osVersion}`]
                  .filter(Boolean)
                  .join(", ")}
              </p>
              <p>
                Added <Day at={device.createdAt} />, last seen <Moment at={device.lastSeenAt} />
              </p>
            </div>
            <Form action="/forms/account/device">
              <input type="hidden" name="id" value={device.id} />
              <button
                type="submit"
                className="quiet"
                aria-label={`Remove ${device.name ?? device.model ?? "this device"}`}
              >
                Remove
              </button>
            </Form>
          </li>
        ))}
      </ul>
    </section>
  );
}

const STATUS_LABELS: Record<Device["status"], string> = {
  pending: "not verified",
  active: "notifications on",
  invalid: "unreachable",
};
