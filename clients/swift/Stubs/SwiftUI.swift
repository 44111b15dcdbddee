@_exported import Foundation

@MainActor @preconcurrency public protocol View {
  associatedtype Body: View
  @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: View { public var body: Never { fatalError() } }
extension Optional: View where Wrapped: View { public var body: Never { fatalError() } }

public struct TupleView<T>: View { public var body: Never { fatalError() } }
public struct ConditionalView<A: View, B: View>: View { public var body: Never { fatalError() } }

@resultBuilder public enum ViewBuilder {
  public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
  public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<(repeat each Content)> { fatalError() }
  public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
  public static func buildEither<A: View, B: View>(first: A) -> ConditionalView<A, B> { fatalError() }
  public static func buildEither<A: View, B: View>(second: B) -> ConditionalView<A, B> { fatalError() }
}

public struct Text: View {
  public init<S: StringProtocol>(_ content: S) { fatalError() }
  public var body: Never { fatalError() }
}

public struct Button<Label: View>: View {
  public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) where Label == Text { fatalError() }
  public var body: Never { fatalError() }
}

public struct VStack<Content: View>: View {
  public init(spacing: Double? = nil, @ViewBuilder content: () -> Content) { fatalError() }
  public var body: Never { fatalError() }
}

public struct SecureField: View {
  public init<S: StringProtocol>(_ title: S, text: Binding<String>) { fatalError() }
  public var body: Never { fatalError() }
}

extension View {
  public func padding() -> some View { self }
  public func environmentObject<T: ObservableObject>(_ object: T) -> some View { self }
}

@MainActor @preconcurrency public protocol Scene {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: Scene {}

@resultBuilder public enum SceneBuilder {
  public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

public struct WindowGroup<Content: View>: Scene {
  public init(@ViewBuilder content: () -> Content) { fatalError() }
  public var body: Never { fatalError() }
}

extension Scene {
  public func onChange<V: Equatable>(of value: V, perform action: @escaping (V) -> Void) -> some Scene { self }
}

@MainActor @preconcurrency public protocol App {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Body { get }
  init()
}

extension App { @MainActor public static func main() { fatalError() } }

public enum ScenePhase: Sendable { case background, inactive, active }

public struct EnvironmentValues {
  public var scenePhase: ScenePhase { fatalError() }
}

@propertyWrapper public struct Environment<Value> {
  public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { fatalError() }
  public var wrappedValue: Value { fatalError() }
}

public protocol ObservableObject: AnyObject {}

@propertyWrapper public struct Published<Value> {
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  public var wrappedValue: Value
}

@MainActor @propertyWrapper public struct EnvironmentObject<ObjectType: ObservableObject> {
  public init() { fatalError() }
  public var wrappedValue: ObjectType { fatalError() }
}

@MainActor @propertyWrapper public struct StateObject<ObjectType: ObservableObject> {
  public init(wrappedValue thunk: @autoclosure @escaping () -> ObjectType) { fatalError() }
  public var wrappedValue: ObjectType { fatalError() }
}

public struct Binding<Value> {
  public var wrappedValue: Value {
    get { fatalError() }
    nonmutating set { fatalError() }
  }
}

@propertyWrapper public struct State<Value> {
  public init(wrappedValue: Value) { fatalError() }
  public var wrappedValue: Value {
    get { fatalError() }
    nonmutating set { fatalError() }
  }
  public var projectedValue: Binding<Value> { fatalError() }
}

@MainActor @propertyWrapper public struct UIApplicationDelegateAdaptor<Delegate: NSObject> {
  public init(_ type: Delegate.Type = Delegate.self) { fatalError() }
  public var wrappedValue: Delegate { fatalError() }
}

/// Of Foundation, which has it on Apple's platforms alone.
extension URL {
  public static var applicationSupportDirectory: URL { fatalError() }
}
