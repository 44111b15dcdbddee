import { GroupPage } from "../reference/group-page";

export const metadata = { title: "API for the iOS app" };

export default function Page() {
  return <GroupPage slug="ios" />;
}
