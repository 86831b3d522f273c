resource "kubernetes_deployment" "orders" {
  spec {
    template {
      spec {
        container {
          env {
            name  = "STREAMS_NUM_STANDBY_REPLICAS"
            value = "1"
          }
          env {
            name  = "STREAMS_MAX_WARMUP_REPLICAS"
            value = "6"
          }
        }
      }
    }
  }
}
