import type { Principal } from "@/lib/principal";
import { listDevices } from "@/lib/push/devices/devices";
import { Form } from "../components/form";
import { Day, TimeText } from "../components/time";
import { COMMON } from "../language/common-texts";
import { textsOf } from "../language/page-language";
import type { AccountTexts } from "./texts/account";

type Props = { ctx: Parameters<typeof listDevices>[0]; visitor: Principal; texts: AccountTexts };

/** The devices that receive notifications. */
export async function Devices({ ctx, visitor, texts: { devices: texts, added } }: Props) {
  const devices = await listDevices(ctx, visitor);
  const { remove } = await textsOf(COMMON);
  return (
    <section className="card" aria-labelledby="devices">
      <h2 id="devices">{texts.title}</h2>
      {devices.length === 0 && <p>{texts.none}</p>}
      <ul className="rows">
        {devices.map((device) => (
          <li key={device.id} className="row">
            <div className="details">
              <strong>{device.name ?? device.model ?? texts.unnamed}</strong>{" "}
              <span className="tag">{texts.status[device.status]}</span>
              <p>
                {[device.name && device.model, device.osVersion && `iOS ${device.osVersion}`]
                  .filter(Boolean)
                  .join(", ")}
              </p>
              <p>
                {added} <Day at={device.createdAt} />, {texts.lastSeen} <TimeText at={device.lastSeenAt} />
              </p>
            </div>
            <Form action="/forms/account/device">
              <input type="hidden" name="id" value={device.id} />
              <button type="submit" className="quiet" aria-label={texts.remove(device.name ?? device.model)}>
                {remove}
              </button>
            </Form>
          </li>
        ))}
      </ul>
    </section>
  );
}
