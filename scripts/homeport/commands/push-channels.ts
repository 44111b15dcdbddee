import {
  type Channel,
  ChannelApp,
  ChannelParams,
  type Channels,
  NewChannel,
} from "../../../lib/admin/push/channels/schema";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup } from "../command";
import { oneOf, parseWith } from "../options";

const CHANNELS = "/api/admin/push/channels";
const OPTIONS = {
  environment: "--environment",
  bundleId: "--bundle",
  messageStoragePolicy: "--create",
  channelId: "--delete",
};

type ChannelOptions = { environment?: string; bundle?: string; create?: string; delete?: string };

/** `homeport push channels` */
export const defineChannels: DefineCommandGroup = (push) => {
  push
    .command("channels")
    .description("list an app's broadcast channels for Live Activities, create one or delete one")
    .addOption(oneOf("--environment <environment>", "production, the default, or sandbox", ["production", "sandbox"]))
    .option("--bundle <id>", "the app: one of APNS_BUNDLE_IDS")
    .addOption(oneOf("--create <policy>", "which messages APNs stores: none or most_recent", ["none", "most_recent"]))
    .option("--delete <id>", "the channel's id in this list")
    .run(channels);
};

async function channels({ api, output }: CommandContext, given: ChannelOptions): Promise<void> {
  const { create, delete: channelId } = given;
  if (create !== undefined && channelId !== undefined)
    throw new UsageError("--create and --delete are mutually exclusive");
  const { environment, bundleId } = parseWith(
    ChannelApp,
    { environment: given.environment, bundleId: given.bundle },
    OPTIONS,
  );
  const app = { environment, ...(bundleId === undefined ? {} : { bundleId }) };
  if (create !== undefined) {
    const input = parseWith(NewChannel, { ...app, messageStoragePolicy: create }, OPTIONS);
    const channel = await api.request<Channel>("POST", CHANNELS, input);
    return output.result(channel, [`Created ${channel.id}. ActivityKit's id is ${channel.channelId}.`]);
  }
  if (channelId !== undefined) {
    const { channelId: id } = parseWith(ChannelParams, { channelId }, OPTIONS);
    await api.request("DELETE", `${CHANNELS}/${id}?${new URLSearchParams(app)}`);
    return output.result({ id }, [`${id} is deleted.`]);
  }
  const { channels: found } = await api.get<Channels>(CHANNELS, app);
  if (found.length === 0) output.note("No channels found.");
  output.table(found, { id: ({ id }) => id, channelId: (channel) => channel.channelId });
}
