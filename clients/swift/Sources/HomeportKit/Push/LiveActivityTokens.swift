import Foundation

/// The body of `PUT /api/push/devices/{deviceId}/live-activities/{activityId}`.
struct LiveActivityToken: Encodable { let attributesType, token: String }
/// The body of `PUT /api/push/devices/{deviceId}/live-activity-start-tokens/{attributesType}`.
struct LiveActivityStartToken: Encodable { let token: String }

#if canImport(ActivityKit) && os(iOS)
  import ActivityKit

  /// Sends the push tokens of Live Activities to the service. The device has to be active.
  public struct LiveActivityTokens: Sendable {
    private let deviceId: String
    private let homeport: Homeport

    public init(deviceId: String, homeport: Homeport) {
      self.deviceId = deviceId
      self.homeport = homeport
    }

    /// Registers each token that starts activities of a type. Runs until its task is cancelled.
    @available(iOS 17.2, *)
    public func followStartTokens<Attributes: ActivityAttributes>(of type: Attributes.Type) async {
      for await token in Activity<Attributes>.pushToStartTokenUpdates {
        try? await register(startToken: hex(token), attributesType: "\(type)")
      }
    }

    /// Registers the tokens of all activities of a type, those that a push has started too, and removes each once it has
    /// ended. `name` returns what the server calls an activity: 1 to 64 letters, digits, and . _ : - Runs until its task
    /// is cancelled.
    public func follow<Attributes: ActivityAttributes>(
      _ type: Attributes.Type, name: @escaping @Sendable (Activity<Attributes>) -> String
    ) async {
      await withTaskGroup(of: Void.self) { group in
        for activity in Activity<Attributes>.activities { group.addTask { await follow(activity, name(activity)) } }
        for await activity in Activity<Attributes>.activityUpdates {
          group.addTask { await follow(activity, name(activity)) }
        }
      }
    }

    private func follow<Attributes: ActivityAttributes>(_ activity: Activity<Attributes>, _ name: String) async {
      let sending = Task {
        for await token in activity.pushTokenUpdates {
          try? await register(token: hex(token), attributesType: "\(Attributes.self)", activityId: name)
        }
      }
      for await state in activity.activityStateUpdates where state == .ended || state == .dismissed { break }
      sending.cancel()
      if !Task.isCancelled { try? await remove(activityId: name) }
    }

    private func register(token: String, attributesType: String, activityId: String) async throws {
      let body = LiveActivityToken(attributesType: attributesType, token: token)
      _ = try await homeport.send("PUT", "/api/push/devices/\(deviceId)/live-activities/\(activityId)", .json(body))
    }

    private func register(startToken: String, attributesType: String) async throws {
      let body = LiveActivityStartToken(token: startToken)
      _ = try await homeport.send(
        "PUT", "/api/push/devices/\(deviceId)/live-activity-start-tokens/\(attributesType)", .json(body))
    }

    private func remove(activityId: String) async throws {
      _ = try await homeport.send("DELETE", "/api/push/devices/\(deviceId)/live-activities/\(activityId)")
    }
  }
#endif
